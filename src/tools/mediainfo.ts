/** mediainfo: its options, how it is run, and how what it prints is read. */
import { readOptions, type OptionSpec } from './option.ts';
import { findsPcm, type InFile, type InImage, type Program } from './tool.ts';

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

/**
 * Its help does not list them all, so none names a flag that a version could be asked for; builds differ in `reported`
 * ones.
 */
export const MEDIAINFO_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'output',
    shapes: true,
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
    shapes: true,
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
    shapes: true,
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
const outputsIn = (said: string): string[] =>
  MEDIAINFO_OUTPUTS.filter((output) => new RegExp(`^${output.replaceAll('.', '\\.')}(?:\\s|$)`, 'm').test(said));

/** From `--Help` of builds that say what changes nothing in them. */
const lackedIn = (help: string): string[] =>
  (/^Without effect: (.+)$/m.exec(help)?.[1] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^[A-Za-z]{1,32}$/.test(name));

function mediaTypeOf(output: string): string {
  if (output.endsWith('JSON')) return 'application/json';
  if (output === 'Text') return 'text/plain';
  // Every export format but those above is XML.
  return output === 'HTML' ? 'text/html' : 'application/xml';
}

export const mediainfo: InFile<InImage<Program<'mediainfo'>>> = {
  name: 'mediainfo',
  options: MEDIAINFO_OPTIONS,
  args(options, address) {
    const values = new Map([...readOptions(MEDIAINFO_OPTIONS, options)].map(([spec, value]) => [spec.name, value]));
    return [
      `--Output=${values.get('output')}`,
      ...(values.get('full') === true ? ['--Full'] : []),
      `--Language=${values.get('language')}`,
      `--ParseSpeed=${values.get('parse_speed')}`,
      `--ReadByHuman=${values.get('read_by_human') === true ? 1 : 0}`,
      address,
    ];
  },
  format: (options) => ((options['output'] ?? 'JSON').endsWith('JSON') ? 'json' : 'text'),
  verifiesTls: (options) => options['ssl_ignore_security'] !== 'true',
  /** It exits with 0 whatever happens: what it did not print is the failure. */
  failure({ code, stdout, stderr }) {
    if (code === 0 && !isEmpty(stdout)) return undefined;
    return message(stderr) ?? 'mediainfo found nothing in the source';
  },
  formats: { option: 'output', mediaType: (output) => `${mediaTypeOf(output)}; charset=utf-8` },
  file: {
    byDefault: true,
    enables: 'Run mediainfo.',
    description: 'mediainfo and its options.',
    tunable: true,
    hosts: true,
  },
  proof: {
    ask: { version: '--Version', help: '--Help' },
    says: /^MediaInfoLib - v?(\S+).*$/m,
    /** What it was compiled with, not its number, decides which formats it writes and which options have an effect. */
    async built(print, help) {
      const outputs = outputsIn(await print('--Info_OutputFormats'));
      return [...outputs.map((output) => `Output=${output}`), ...lackedIn(help).map((name) => `!${name}`)];
    },
    misreads: findsPcm,
  },
};

/**
 * Every format has its own way to say nothing; where one prints a frame with nothing known in it, stderr and the source
 * proxy tell.
 */
const NOTHING =
  /^(?:\s*|\s*\{\s*(?:"creatingLibrary"[^{}]*\{[^{}]*\},\s*)?"media": ?null\s*\}\s*|[\s\S]{0,600}<media\s*\/>\s*<\/MediaInfo>\s*|\s*<html>[\s\S]{0,400}<body>\s*<\/body>\s*<\/html>\s*)$/;

const isEmpty = (stdout: string): boolean => stdout.length < 4096 && NOTHING.test(stdout);

/** `E: <address>, <what the transport said>`; what an origin sent as a page is not passed on. */
function message(stderr: string): string | undefined {
  const line = /^E: (.+)$/m.exec(stderr)?.[1] ?? stderr.split('\n').find((text) => text.trim() !== '');
  const said = line?.replace(/^[a-z0-9+.-]+:\/\/\S+, /i, '').trim();
  return said === undefined || said === '' || said.startsWith('<') ? undefined : said.slice(0, 300);
}
