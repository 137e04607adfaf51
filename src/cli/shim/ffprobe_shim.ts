/** ffprobe's own flags as options of the service, from the table that the service itself has. */
import { jsonIn } from '../../base/json_in.ts';
import { MAX_TIMEOUT_MS } from '../../base/limits.ts';
import { listOf, numberOf, objectOf, tagOf, textOf, type Json, type JsonObject } from '../../media/report/json.ts';
import { valueOf as ratioOf } from '../../media/report/normalise/ratio.ts';
import { FFPROBE_OPTIONS, LOG_LEVELS } from '../../media/tools/ffprobe_options.ts';
import { readWriter, switched, type WriterFormat } from '../../media/tools/ffprobe_writers.ts';
import { OptionError, type OptionSpec } from '../../media/tools/option.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure, masked, usage } from '../exits.ts';
import { givenSource, type GivenSource } from '../given_source.ts';
import { printToolVersion, runTool } from './tool_run.ts';

// What ffprobe prints about a file of this machine that it cannot open. The service is not asked.

interface NotOpened {
  code: number;
  string: string;
}

/** As Linux numbers and words them, by the name of the error. */
const REASONS: Readonly<Record<string, NotOpened>> = {
  ENOENT: { code: -2, string: 'No such file or directory' },
  EACCES: { code: -13, string: 'Permission denied' },
  ENOTDIR: { code: -20, string: 'Not a directory' },
  EISDIR: { code: -21, string: 'Is a directory' },
};

interface Writer {
  /** Around what is between. */
  frame?(format: WriterFormat): readonly [string, string];
  error(reason: NotOpened, format: WriterFormat): string;
}

/** One line, with names of fields or without. */
const inLine =
  (separator: string, withoutKeys: boolean): Writer['error'] =>
  ({ code, string }, format) => {
    const key = (name: string): string => (switched(format, 'nokey', withoutKeys) ? '' : `${name}=`);
    const section = switched(format, 'print_section', true) ? ['error'] : [];
    const fields = [...section, `${key('code')}${code}`, `${key('string')}${string}`];
    return `${fields.join(format.options['item_sep'] ?? separator)}\n`;
  };

const XML_NAMES =
  ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:ffprobe="http://www.ffmpeg.org/schema/ffprobe"' +
  ' xsi:schemaLocation="http://www.ffmpeg.org/schema/ffprobe ffprobe.xsd"';

const WRITERS: Readonly<Record<string, Writer>> = {
  default: {
    error({ code, string }, format) {
      const key = (name: string): string => (switched(format, 'nokey') ? '' : `${name}=`);
      const fields = `${key('code')}${code}\n${key('string')}${string}\n`;
      return switched(format, 'noprint_wrappers') ? fields : `[ERROR]\n${fields}[/ERROR]\n`;
    },
  },
  compact: { error: inLine('|', false) },
  csv: { error: inLine(',', true) },
  flat: {
    error({ code, string }, { options: { sep_char: dot = '.' } }) {
      return `error${dot}code=${code}\nerror${dot}string="${string}"\n`;
    },
  },
  ini: {
    frame: () => ['# ffprobe output\n\n', ''],
    error: ({ code, string }) => `[error]\ncode=${code}\nstring=${string}\n`,
  },
  json: {
    frame: () => ['{\n', '\n}\n'],
    error({ code, string }, format) {
      const members = [`"code": ${code}`, `"string": "${string}"`];
      return switched(format, 'compact')
        ? `    "error": { ${members.join(', ')} }`
        : `    "error": {\n        ${members.join(',\n        ')}\n    }`;
    },
  },
  xml: {
    frame(format) {
      const [name, more] = switched(format, 'fully_qualified') ? ['ffprobe:ffprobe', XML_NAMES] : ['ffprobe', ''];
      return [`<?xml version="1.0" encoding="UTF-8"?>\n<${name}${more}>\n`, `</${name}>\n`];
    },
    error: ({ code, string }) => `    <error code="${code}" string="${string}"/>\n`,
  },
};

/** The standard output of ffprobe in a format. */
function notOpened(reason: NotOpened, format: WriterFormat, showsError: boolean): string {
  const { frame, error } = WRITERS[format.writer]!;
  const [before, after] = frame?.(format) ?? ['', ''];
  return `${before}${showsError ? error(reason, format) : ''}${after}`;
}

// The summary on stderr, made of its JSON in the words of 9.0: input, duration and streams.

const FIELD_ORDERS: Readonly<Record<string, string>> = {
  progressive: 'progressive',
  tt: 'top first',
  bb: 'bottom first',
  tb: 'top coded first (swapped)',
  bt: 'bottom coded first (swapped)',
};

type Text = (name: string) => string | undefined;

const isKnown = (text: string | undefined): text is string => text !== undefined;
const kilobits = (bits: number): string => `${Math.trunc(bits / 1_000)} kb/s`;

function clock(seconds: number): string {
  const hundredths = Math.round(Math.round(seconds * 1e6) / 1e4);
  const whole = Math.floor(hundredths / 100);
  const padded = (value: number): string => String(value).padStart(2, '0');
  const parts = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  return `${parts.map(padded).join(':')}.${padded(hundredths % 100)}`;
}

/** `25 fps`, `29.97 tbr`, `90k tbn`; with the precision of 32 bits that the tool has. */
function perSecond(value: number | undefined, unit: string): string | undefined {
  if (value === undefined || value === 0) return undefined;
  const hundredths = Math.round(Math.fround(value * 100));
  if (hundredths === 0) return `${value.toFixed(4)} ${unit}`;
  if (hundredths % 100 !== 0) return `${value.toFixed(2)} ${unit}`;
  return hundredths % 100_000 === 0 ? `${(value / 1_000).toFixed(0)}k ${unit}` : `${value.toFixed(0)} ${unit}`;
}

/** Unknown or without one: 0. */
const sizeOf = (text: Text): string | undefined =>
  (text('width') ?? '0') === '0' ? undefined : `${text('width')}x${text('height')}`;

function pictureParts(text: Text): string[] {
  const colours = ['color_space', 'color_primaries', 'color_transfer'].map((name) => text(name) ?? 'unknown');
  const colour = new Set(colours).size === 1 ? colours[0] : colours.join('/');
  const order = FIELD_ORDERS[text('field_order') ?? ''];
  const details = [text('color_range'), colour === 'unknown' ? undefined : colour, order].filter(isKnown);
  const aspect = text('sample_aspect_ratio');
  return [
    `${text('pix_fmt') ?? 'none'}${details.length === 0 ? '' : `(${details.join(', ')})`}`,
    ...(sizeOf(text) === undefined
      ? []
      : [sizeOf(text) + (aspect === undefined ? '' : ` [SAR ${aspect} DAR ${text('display_aspect_ratio')}]`)]),
  ];
}

const SAMPLE_BITS: Readonly<Record<string, string>> = {
  u8: '8',
  s16: '16',
  s32: '32',
  flt: '32',
  dbl: '64',
  s64: '64',
};

function soundParts(text: Text): (string | undefined)[] {
  const [form, bits = '0'] = [text('sample_fmt'), text('bits_per_raw_sample')];
  const isWhole = bits === '0' || bits === SAMPLE_BITS[form?.replace(/p$/, '') ?? ''];
  return [
    (text('sample_rate') ?? '0') === '0' ? undefined : `${text('sample_rate')} Hz`,
    text('channel_layout') ?? `${text('channels')} channels`,
    form === undefined || isWhole ? form : `${form} (${bits} bit)`,
  ];
}

function streamLine(stream: JsonObject): string {
  const text: Text = (name) => textOf(stream[name]);
  const [type = 'unknown', profile, id] = [text('codec_type'), text('profile'), text('id')];
  const tag = text('codec_tag')?.slice(2).toUpperCase() ?? '0';
  const codec =
    `${type[0]!.toUpperCase()}${type.slice(1)}: ${text('codec_name') ?? 'none'}` +
    (profile === undefined || /^(?:-?\d+|unknown)$/.test(profile) ? '' : ` (${profile})`) +
    (/^0+$/.test(tag) ? '' : ` (${text('codec_tag_string')} / 0x${tag})`);
  const [rate, base] = [numberOf(stream['bit_rate']), ratioOf(stream['time_base'])];
  const isVideo = type === 'video';
  const size = type === 'subtitle' ? sizeOf(text) : undefined;
  const start = text('start_time');
  const parts = [
    codec,
    ...(isVideo ? pictureParts(text) : type === 'audio' ? soundParts(text) : [size]),
    rate === undefined ? undefined : kilobits(rate),
    isVideo ? perSecond(ratioOf(stream['avg_frame_rate']), 'fps') : undefined,
    isVideo ? perSecond(ratioOf(stream['r_frame_rate']), 'tbr') : undefined,
    isVideo ? perSecond(base && 1 / base, 'tbn') : undefined,
    Number(start ?? 0) === 0 ? undefined : `start ${start}`,
  ].filter(isKnown);
  const marks = Object.entries(objectOf(stream['disposition']))
    .filter(([, isSet]) => isSet === 1)
    .map(([name]) => ` (${name.replaceAll('_', ' ')})`);
  const language = tagOf(objectOf(stream['tags']), 'language');
  const number = `#0:${text('index')}${id === undefined ? '' : `[${id}]`}`;
  return `  Stream ${number}${language === undefined ? '' : `(${language})`}: ${parts.join(', ')}${marks.join('')}`;
}

/** `output`: its JSON with format and streams. Nothing if it is none, as some versions print it. */
export function summaryLines(output: string, name: string): string[] {
  const root = objectOf(jsonIn(output) as Json);
  if (root['format'] === undefined) return [];
  const format = objectOf(root['format']);
  const [duration, rate] = [numberOf(format['duration']), numberOf(format['bit_rate'])];
  const start = textOf(format['start_time']);
  return [
    `Input #0, ${textOf(format['format_name'])}, from '${name}':`,
    `  Duration: ${duration === undefined ? 'N/A' : clock(duration)}${start === undefined ? '' : `, start: ${start}`}` +
      `, bitrate: ${rate === undefined ? 'N/A' : kilobits(rate)}`,
    ...listOf(root['streams']).map((stream) => streamLine(objectOf(stream))),
  ];
}

export interface Read {
  source: string;
  options: Record<string, unknown>;
  /** Fields of the request beside those of the tool. */
  request: { timeout?: number; headers?: Record<string, string> };
  /** Whether the level lets errors through, and the summary of the source. */
  says: boolean;
  informs: boolean;
}

const BY_FLAG: ReadonlyMap<string, OptionSpec> = new Map(
  FFPROBE_OPTIONS.flatMap((spec) => (spec.flag === undefined ? [] : [[spec.flag, spec] as const])),
);
const PRETTY = ['unit', 'prefix', 'byte_binary_prefix', 'sexagesimal'];
/** On by default in ffprobe, so that they change nothing. */
const WITHOUT_EFFECT = ['hide_banner', 'private', 'show_private_data'];
/** What ffprobe prints where a flag does not name it is nothing, and the service prints it by default. */
const SILENT = {
  show_format: false,
  show_streams: false,
  show_programs: false,
  show_chapters: false,
  show_error: false,
};

/** Of a line that prints nothing but the summary. */
const FOR_SUMMARY = {
  ...SILENT,
  ...Object.fromEntries(PRETTY.map((name) => [name, false])),
  show_format: true,
  show_streams: true,
  select_streams: null,
  output_format: 'json',
};
const printsNothing = (options: Read['options']): boolean =>
  WRITERS[readWriter(String(options['output_format'])).writer]!.frame === undefined &&
  Object.entries(options).every(([name, value]) => !name.startsWith('show_') || value === false);

const refused = (flag: string, why: string): Failure => usage(`ffprobe: -${masked(flag.slice(0, 80))}: ${why}`);

/** A level by its name or number, `repeat+` and `level+` before it. */
function levelOf(flag: string, value: string): string {
  const text = value.split('+').at(-1)!;
  const found = Object.keys(LOG_LEVELS).find((name) => name === text || String(LOG_LEVELS[name]) === text);
  if (found === undefined) throw refused(flag, `is none of ${Object.keys(LOG_LEVELS).join(', ')}`);
  return found;
}

const POWERS = 'KMGTP';

/** A number with a prefix: 5M, 64Ki, 1.5G. */
function readNumber(flag: string, value: string): number {
  const [, figure, prefix, binary] = /^(-?\d{1,16}(?:\.\d{1,6})?)(?:([kKMGTP])(i)?)?$/.exec(value) ?? [];
  if (figure === undefined) throw refused(flag, 'must be a number, such as 5000000 or 5M');
  const power = prefix === undefined ? 0 : POWERS.indexOf(prefix.toUpperCase()) + 1;
  return Math.trunc(Number(figure) * (binary === undefined ? 1_000 : 1_024) ** power);
}

function valueOf(spec: OptionSpec, flag: string, value: string): unknown {
  switch (spec.type) {
    case 'boolean':
      if (spec.passed === undefined) return true;
      if (value !== '0' && value !== '1') throw refused(flag, 'must be 0 or 1');
      return value === '1';
    case 'integer':
    case 'number':
      return readNumber(flag, value);
    case 'enum':
    case 'string':
      return value;
  }
}

/** Where ffprobe writes to, if it is told to write to standard output. */
const STDOUT = /^(?:-|pipe:1?|fd:1?)$/;
/** What the limit of the request has above that of the tool, so that the tool's own is the one that is reported. */
const MARGIN_MS = 5_000;

/** What a line says so far. */
interface Line {
  options: Record<string, unknown>;
  /** By name in lower case. */
  headers: Record<string, string>;
  /** Those that `-headers` replaces. */
  ownHeaders: Record<string, string>;
  cookies: string[];
  timeoutMs: number | undefined;
  says: boolean;
  informs: boolean;
}

type Taker = (line: Line, value: string, flag: string) => void;

const header =
  (name: string): Taker =>
  (line, value) => {
    line.ownHeaders[name] = value;
  };

function headers({ headers: found }: Line, value: string, flag: string): void {
  for (const text of value.split(/\r?\n/).filter((one) => one.trim() !== '')) {
    const [, name, content] = /^([^\s:]{1,128}):[ \t]*(.*?)[ \t]*$/.exec(text) ?? [];
    if (name === undefined || content === undefined) throw refused(flag, 'must be lines such as "Name: value"');
    const lower = name.toLowerCase();
    found[lower] = Object.hasOwn(found, lower) ? `${found[lower]}, ${content}` : content;
  }
}

/** Microseconds. ffprobe bounds each read by it; the service bounds the whole probe. */
function timeout(line: Line, value: string, flag: string): void {
  const us = readNumber(flag, value);
  // ffprobe takes none of these as a limit.
  line.timeoutMs = us <= 0 ? undefined : Math.min(MAX_TIMEOUT_MS, Math.max(1, Math.ceil(us / 1_000)));
}

function only(accepted: RegExp, why: string): Taker {
  return (_, value, flag) => {
    if (!accepted.test(value)) throw refused(flag, why);
  };
}

const writerFormat: Taker = ({ options }, value, flag) => {
  try {
    readWriter(value);
  } catch (error) {
    throw error instanceof OptionError ? refused(flag, error.why) : error;
  }
  options['output_format'] = value;
};
const level: Taker = (line, value, flag) => {
  const number = LOG_LEVELS[levelOf(flag, value)]!;
  line.says = number >= LOG_LEVELS['error']!;
  line.informs = number >= LOG_LEVELS['info']!;
};
/** ffprobe adds up what it is given more than once. */
const entries: Taker = ({ options }, value) => {
  const before = options['show_entries'];
  options['show_entries'] = before === undefined ? value : `${String(before)}:${value}`;
};

/** Flags with a value that are no option of the service by the same name. */
const TAKERS: Readonly<Record<string, Taker>> = {
  of: writerFormat,
  print_format: writerFormat,
  output_format: writerFormat,
  v: level,
  loglevel: level,
  show_entries: entries,
  show_format_entry: (line, value, flag) => entries(line, `format=${value}`, flag),
  show_data_hash: ({ options }, value, flag) => {
    if (value.toLowerCase() !== 'md5') throw refused(flag, 'MD5 alone can be passed on');
    options['show_data_hash'] = true;
  },
  show_log: ({ options }, value, flag) => {
    options['show_log'] = levelOf(flag, value);
  },
  tls_verify: ({ options }, value, flag) => {
    if (value !== '0' && value !== '1') throw refused(flag, 'must be 0 or 1');
    options['tls_verify'] = value === '1';
  },
  headers,
  user_agent: header('user-agent'),
  'user-agent': header('user-agent'),
  referer: header('referer'),
  cookies: ({ cookies }, value) => {
    cookies.push(...value.split('\n').filter((one) => one.trim() !== ''));
  },
  timeout,
  rw_timeout: timeout,
  stimeout: timeout,
  o: only(STDOUT, 'cannot be passed on: the output is on stdout'),
  rtsp_transport: only(/^tcp$/, 'cannot be passed on; accepted: tcp'),
};

/** As ffprobe sends them: what the address does not match, and what has expired, is left out. */
function cookieHeader(cookies: readonly string[], source: string): string {
  const address = URL.canParse(source) ? new URL(source) : undefined;
  return cookies
    .flatMap((cookie) => {
      const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim());
      const by = new Map(
        attributes.map((text) => [text.split('=', 1)[0]!.toLowerCase(), text.replace(/^[^=]*=?/, '')] as const),
      );
      const domain = by.get('domain')?.replace(/^\./, '').toLowerCase();
      const path = by.get('path');
      const expires = Date.parse(by.get('expires') ?? '');
      const isSent =
        (domain === undefined || `.${address?.hostname}`.endsWith(`.${domain}`)) &&
        (path === undefined || address?.pathname.startsWith(path) === true) &&
        !(expires < Date.now());
      return isSent ? [pair] : [];
    })
    .join('; ');
}

function requestOf({ headers: named, ownHeaders, cookies, timeoutMs }: Line, source: string): Read['request'] {
  const cookie = cookieHeader(cookies, source);
  const all = { ...ownHeaders, ...(cookie === '' ? {} : { cookie }), ...named };
  return {
    ...(timeoutMs === undefined ? {} : { timeout: Math.min(MAX_TIMEOUT_MS, timeoutMs + MARGIN_MS) }),
    ...(Object.keys(all).length === 0 ? {} : { headers: all }),
  };
}

/** Whether a line asks for the version alone. */
export const asksVersion = (args: readonly string[]): boolean => args.some((arg) => /^--?version$/.test(arg));

export function readFfprobe(args: readonly string[]): Read {
  const rest = [...args];
  const line: Line = {
    options: { ...SILENT, output_format: 'default' },
    headers: {},
    ownHeaders: {},
    cookies: [],
    timeoutMs: undefined,
    says: true,
    informs: true,
  };
  const { options } = line;
  const sources: string[] = [];
  const valueFor = (flag: string): string => {
    const value = rest.shift();
    if (value === undefined) throw refused(flag, 'a value is missing');
    return value;
  };
  let takesFlags = true;
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (takesFlags && arg === '--') {
      takesFlags = false;
      continue;
    }
    if (!takesFlags || !arg.startsWith('-') || arg === '-') {
      sources.push(arg);
      continue;
    }
    // Two dashes are one to ffprobe.
    const flag = arg.replace(/^--?/, '');
    const spec = BY_FLAG.get(flag);
    const take = Object.hasOwn(TAKERS, flag) ? TAKERS[flag] : undefined;
    if (flag === 'i') sources.push(valueFor(flag));
    else if (take) take(line, valueFor(flag), flag);
    else if (flag === 'pretty') for (const name of PRETTY) options[name] = true;
    else if (spec && !WITHOUT_EFFECT.includes(flag)) {
      const takesNone = spec.type === 'boolean' && spec.passed === undefined;
      options[spec.name] = valueOf(spec, flag, takesNone ? '' : valueFor(flag));
    } else if (!WITHOUT_EFFECT.includes(flag)) throw refused(flag, 'cannot be passed on to the service');
  }
  const [source] = sources;
  if (source === undefined) throw usage('ffprobe: no input: give a file or its address');
  if (sources.length > 1) throw usage(`ffprobe: ${sources.length} inputs, and it takes one`);
  if (line.timeoutMs !== undefined) options['timeout'] = line.timeoutMs;
  return { source, options, request: requestOf(line, source), says: line.says, informs: line.informs };
}

/** Protocols of ffprobe that name what is on this machine. */
const STDIN = /^(?:-|(?:pipe|fd):0?)$/;

/** A reason why a file of this machine could not be opened, or the source. */
async function inputOf(text: string): Promise<GivenSource | NotOpened> {
  try {
    if (STDIN.test(text)) return { ...(await givenSource('-')), text: text === '-' ? 'fd:' : text };
    return { ...(await givenSource(text.replace(/^file:(?!\/\/)/, ''))), text };
  } catch (error) {
    const cause = error instanceof Failure ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    const reason = REASONS[cause?.code ?? ''];
    if (reason) return reason;
    throw error;
  }
}

const run: Run = async (invocation) => {
  if (asksVersion(invocation.positionals)) return printToolVersion('ffprobe', invocation);
  const { source: text, options, request, says, informs } = readFfprobe(invocation.positionals);
  const source = await inputOf(text);
  if ('string' in source) {
    const format = readWriter(String(options['output_format']));
    await invocation.terminal.data(notOpened(source, format, options['show_error'] === true));
    if (says) invocation.terminal.note(`${text}: ${source.string}`);
    return EXIT.failed;
  }
  const isForSummary = informs && printsNothing(options);
  const asked = isForSummary ? { ...options, ...FOR_SUMMARY } : options;
  const { output, code } = await runTool({ tool: 'ffprobe', source, options: asked, request, says }, invocation);
  if (!isForSummary) await invocation.terminal.data(output);
  else if (code === EXIT.done)
    for (const line of summaryLines(output, source.file ? text : source.shown)) invocation.terminal.note(line);
  return code;
};
export default run;
