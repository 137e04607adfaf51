/** mediainfo's own flags as options of the service. */
import { MEDIAINFO_OPTIONS } from '../../media/tools/mediainfo.ts';
import type { OptionSpec } from '../../media/tools/option.ts';
import type { Run } from '../command.ts';
import { inOrder } from '../commands/several.ts';
import { EXIT, masked, usage, type Failure } from '../exits.ts';
import { givenSources } from '../given_source.ts';
import { printToolVersion, runTool } from './tool_run.ts';

export interface Read {
  sources: string[];
  options: Record<string, unknown>;
  /** Those of the options that no flag gave. */
  defaults: string[];
  /** Fields of the request beside those of the tool. */
  request?: { headers: Record<string, string> };
}

const specOf = (name: string) => MEDIAINFO_OPTIONS.find((spec) => spec.name === name)!;
const OUTPUTS = specOf('output').values ?? [];
/** What the binary does where nothing is said. */
const DEFAULTS = { output: 'Text', language: 'en', read_by_human: true };

/** A value of an option, from what stands behind `=`; undefined where it stands alone. */
type Reader = (flag: string, value: string | undefined) => Record<string, unknown>;

const refused = (flag: string, why: string): Failure => usage(`mediainfo: ${masked(flag.slice(0, 80))}: ${why}`);

const switched =
  (name: string): Reader =>
  (flag, value = '1') => {
    if (value !== '0' && value !== '1') throw refused(flag, 'must be 0 or 1');
    return { [name]: value === '1' };
  };

function output(flag: string, value = ''): Record<string, unknown> {
  // Its names are the same in any case.
  const name = OUTPUTS.find((one) => one.toLowerCase() === value.toLowerCase());
  if (name !== undefined) return { output: name };
  // --Output and --Inform are one option to the binary.
  if (value.includes(';')) return inform(flag, value);
  throw refused(flag, `cannot be passed on; accepted: ${OUTPUTS.join(', ')}`);
}

function inform(flag: string, value = ''): Record<string, unknown> {
  if (OUTPUTS.some((one) => one.toLowerCase() === value.toLowerCase())) return output(flag, value);
  if (!new RegExp(`^(?:${specOf('inform').pattern})$`, 'u').test(value))
    throw refused(flag, 'must be a template such as General;%Format%');
  return { inform: value, output: 'JSON' };
}

function parseSpeed(flag: string, value = ''): Record<string, unknown> {
  if (!/^(?:0|1|0?\.\d{1,6}|1\.0+|0\.\d{1,6})$/.test(value)) throw refused(flag, 'must be a number from 0 to 1');
  return { parse_speed: Number(value) };
}

/** A value as the service takes it. */
function asInTable({ name, type, values, pattern, form }: OptionSpec): Reader {
  if (type === 'boolean') return switched(name);
  return (flag, value = '') => {
    const isValid = values ? values.includes(value) : new RegExp(`^(?:${pattern})$`, 'u').test(value);
    if (!isValid) throw refused(flag, form ?? `must be ${values?.join(' or ')}`);
    return { [name]: value };
  };
}

const language = asInTable({ ...specOf('language'), form: 'must be the name of a language, or raw' });

function coverData(flag: string, value?: string): Record<string, unknown> {
  if (value !== 'base64') throw refused(flag, 'must be base64');
  return { cover_data: true };
}

/** Nothing that a source which is one address could change. */
const withoutEffect: Reader = () => ({});

/** By the flag in lower case, as the binary compares them. */
const FLAGS: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries(
    MEDIAINFO_OPTIONS.flatMap((spec) =>
      spec.flag === undefined ? [] : [[`--${spec.flag.toLowerCase()}`, asInTable(spec)] as const],
    ),
  ),
  '--output': output,
  '--inform': inform,
  '--full': switched('full'),
  '-f': switched('full'),
  '--language': language,
  '-lang': language,
  '--parsespeed': parseSpeed,
  '--readbyhuman': switched('read_by_human'),
  '--details': switched('details'),
  '--trace_level': switched('details'),
  '--cover_data': coverData,
  '--ssl_ignoresecurity': switched('ssl_ignore_security'),
  '--file_testcontinuousfilenames': withoutEffect,
  '--bom': withoutEffect,
};
const USER_AGENT = '--file_curl;useragent';

/** Why others are refused. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^--(?:logfile|file_duplicate)$/, ': it writes a file; redirect the output'],
  [/^--(?:externalmetadata|ss[hl]_(?!ignore))/, ': it names a file, and the service opens nothing but the source'],
  [/^(?:-h|--help.*|--info.*)$/, ': it prints a list in place of the source'],
];

export function readMediainfo(args: readonly string[]): Read {
  let given: Record<string, unknown> = {};
  let request: Read['request'];
  const sources: string[] = [];
  for (const arg of args) {
    if (!arg.startsWith('-') || arg === '-') {
      sources.push(arg);
      continue;
    }
    const place = arg.indexOf('=');
    const flag = place === -1 ? arg : arg.slice(0, place);
    const value = place === -1 ? undefined : arg.slice(place + 1);
    const lower = flag.toLowerCase();
    const read = FLAGS[lower];
    if (read) given = { ...given, ...read(flag, value) };
    else if (lower === USER_AGENT) request = { headers: { 'user-agent': value ?? '' } };
    else {
      const why = REASONS.find(([form]) => form.test(lower))?.[1] ?? '';
      throw refused(flag, `cannot be passed on to the service${why}`);
    }
  }
  if (sources.length === 0) throw usage('mediainfo: no input: give a file or its address');
  if (sources.length > 1 && /^Page/m.test(String(given['inform'] ?? '')))
    throw refused('--Inform', 'lines of Page_Begin, Page_Middle and Page_End cannot be passed on with several inputs');
  const defaults = Object.keys(DEFAULTS).filter((name) => !Object.hasOwn(given, name));
  return { sources, options: { ...DEFAULTS, ...given }, defaults, ...(request ? { request } : {}) };
}

/** What stands below the document of a file: the end of a line, and that of the output. */
const END = /\n?\n$/;
/** Of XML: a file, and the end of `MediaInfo` or `MediaTrace`. */
const MEDIA = '<media';
const ROOT_END = '</Media';

/** Outputs for one file each as mediainfo prints them for all: one root of XML, an array of JSON, texts in a row. */
export function joined(outputs: readonly string[], options: Readonly<Record<string, unknown>>): string {
  const [first = '', ...others] = outputs.filter((text) => text !== '');
  if (outputs.length === 1) return first;
  const all = [first, ...others];
  const format = options['inform'] === undefined ? options['output'] : undefined;
  if (format === 'JSON') return `[\n${all.map((text) => text.replace(END, '')).join(',\n')}\n]\n\n`;
  if (format === 'XML' && all.every((text) => text.includes(MEDIA))) {
    const media = (text: string): string => text.slice(text.indexOf(MEDIA), text.lastIndexOf(ROOT_END));
    const end = first.lastIndexOf(ROOT_END);
    return `${first.slice(0, end)}${others.map(media).join('')}${first.slice(end)}`;
  }
  return all.reduce((before, text) => `${before.replace(/\n$/, '')}${text}`);
}

const run: Run = async (invocation) => {
  if (invocation.positionals.some((arg) => arg.toLowerCase() === '--version'))
    return printToolVersion('mediainfo', invocation);
  const { sources, ...read } = readMediainfo(invocation.positionals);
  const outcomes = await inOrder(invocation, await givenSources(sources), 'done', (source) =>
    runTool({ tool: 'mediainfo', source, ...read, says: true }, invocation),
  );
  const outputs = outcomes.map((outcome) => {
    if ('failure' in outcome) throw outcome.failure;
    return outcome.value.output;
  });
  await invocation.terminal.data(joined(outputs, read.options));
  // mediainfo says by its output alone that it found nothing.
  return EXIT.done;
};
export default run;
