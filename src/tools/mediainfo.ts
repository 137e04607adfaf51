/**
 * The options of mediainfo. Its help does not list them all, so none names a flag that a version could be asked for;
 * builds differ in `reported` ones.
 */
import type { OptionSpec } from './option.ts';

export const MEDIAINFO_OUTPUTS = [
  'Text',
  'HTML',
  'XML',
  'JSON',
  'EBUCore_1.8_ps',
  'EBUCore_1.8_sp',
  'EBUCore_1.8_ps_JSON',
  'EBUCore_1.8_sp_JSON',
  'EBUCore_1.6',
  'FIMS_1.3',
  'MPEG-7_Strict',
  'MPEG-7_Relaxed',
  'MPEG-7_Extended',
  'PBCore_2.1',
  'PBCore_2.0',
  'PBCore_1.2',
  'NISO_Z39.87',
] as const;

export const MEDIAINFO_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'output',
    type: 'enum',
    values: MEDIAINFO_OUTPUTS,
    default: 'JSON',
    reported: 'Output',
    description: 'Format of the output.',
  },
  { name: 'full', type: 'boolean', default: false, reported: 'Full', description: 'Every internal field too.' },
  // `file://` here would make it read a file: a name and nothing else.
  {
    name: 'language',
    type: 'string',
    default: 'raw',
    reported: 'Language',
    pattern: '[A-Za-z]{2,8}([-_][A-Za-z0-9]{2,8}){0,2}',
    description: 'Language of the field names; raw leaves them as they are.',
  },
  {
    name: 'parse_speed',
    type: 'number',
    default: 0.5,
    minimum: 0,
    maximum: 1,
    reported: 'ParseSpeed',
    description: 'How much is read: from 0 (as little as possible) to 1 (everything).',
  },
  {
    name: 'read_by_human',
    type: 'boolean',
    default: false,
    reported: 'ReadByHuman',
    description: 'Values made for reading.',
  },
  {
    name: 'ssl_ignore_security',
    type: 'boolean',
    default: false,
    description: 'Accept a source whose certificate does not verify.',
  },
];

/** From `--Info_OutputFormats`: one name in each line, what it is behind it. */
export const outputsIn = (said: string): string[] =>
  MEDIAINFO_OUTPUTS.filter((output) => new RegExp(`^${output.replaceAll('.', '\\.')}(?:\\s|$)`, 'm').test(said));

/** From `--Help` of builds that say what changes nothing in them. */
export const lackedIn = (help: string): string[] =>
  (/^Without effect: (.+)$/m.exec(help)?.[1] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^[A-Za-z]{1,32}$/.test(name));
