/** ffprobe's own flags as options of the service, from the table that the service itself has. */
import { FFPROBE_OPTIONS, LOG_LEVELS } from '../../media/tools/ffprobe_options.ts';
import type { OptionSpec } from '../../media/tools/option.ts';
import type { Run } from '../command.ts';
import { EXIT, Failure, masked, usage } from '../exits.ts';
import { givenSource, type GivenSource } from '../given_source.ts';
import { runTool } from './tool_run.ts';

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

const reasonOf = (code: string | undefined): NotOpened | undefined => (code === undefined ? undefined : REASONS[code]);

interface Writer {
  /** Around what is between. */
  frame: readonly [string, string];
  error(reason: NotOpened): string;
}

const WRITERS: Readonly<Record<string, Writer>> = {
  default: { frame: ['', ''], error: ({ code, string }) => `[ERROR]\ncode=${code}\nstring=${string}\n[/ERROR]\n` },
  csv: { frame: ['', ''], error: ({ code, string }) => `error,${code},${string}\n` },
  flat: { frame: ['', ''], error: ({ code, string }) => `error.code=${code}\nerror.string="${string}"\n` },
  ini: {
    frame: ['# ffprobe output\n\n', ''],
    error: ({ code, string }) => `[error]\ncode=${code}\nstring=${string}\n`,
  },
  json: {
    frame: ['{\n', '\n}\n'],
    error: ({ code, string }) => `    "error": {\n        "code": ${code},\n        "string": "${string}"\n    }`,
  },
  xml: {
    frame: ['<?xml version="1.0" encoding="UTF-8"?>\n<ffprobe>\n', '</ffprobe>\n'],
    error: ({ code, string }) => `    <error code="${code}" string="${string}"/>\n`,
  },
};

/** The standard output of ffprobe in a format. */
function notOpened(reason: NotOpened, format: string, showsError: boolean): string {
  const { frame, error } = WRITERS[format] ?? WRITERS['default']!;
  return `${frame[0]}${showsError ? error(reason) : ''}${frame[1]}`;
}

export interface Read {
  source: string;
  options: Record<string, unknown>;
  says: boolean;
}

const BY_FLAG: ReadonlyMap<string, OptionSpec> = new Map(
  FFPROBE_OPTIONS.flatMap((spec) => (spec.flag === undefined ? [] : [[spec.flag, spec] as const])),
);
const FORMAT_FLAGS = ['of', 'print_format', 'output_format'];
const LEVEL_FLAGS = ['v', 'loglevel'];
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

const refused = (flag: string, why: string): Failure => usage(`ffprobe: -${masked(flag.slice(0, 80))}: ${why}`);

function formatOf(flag: string, value: string): string {
  const [name, ...options] = value.split('=');
  const { values = [] } = BY_FLAG.get('of')!;
  if (options.length > 0) throw refused(flag, 'options of a format cannot be passed on');
  if (!values.includes(name!)) throw refused(flag, `cannot be passed on; accepted: ${values.join(', ')}`);
  return name!;
}

/** A level by its name or number, `repeat+` and `level+` before it. */
function levelOf(flag: string, value: string): string {
  const text = value.split('+').at(-1)!;
  const found = Object.keys(LOG_LEVELS).find((name) => name === text || String(LOG_LEVELS[name]) === text);
  if (found === undefined) throw refused(flag, `is none of ${Object.keys(LOG_LEVELS).join(', ')}`);
  return found;
}

function valueOf(spec: OptionSpec, flag: string, value: string): unknown {
  switch (spec.type) {
    case 'boolean':
      if (spec.passed === undefined) return true;
      if (value !== '0' && value !== '1') throw refused(flag, 'must be 0 or 1');
      return value === '1';
    case 'integer':
    case 'number':
      if (!/^-?\d{1,16}(?:\.\d+)?$/.test(value)) throw refused(flag, 'must be a number without a unit');
      return Number(value);
    case 'enum':
    case 'string':
      return value;
  }
}

export function readFfprobe(args: readonly string[]): Read {
  const rest = [...args];
  const options: Record<string, unknown> = { ...SILENT, output_format: 'default' };
  const sources: string[] = [];
  let says = true;
  const valueFor = (flag: string): string => {
    const value = rest.shift();
    if (value === undefined) throw refused(flag, 'a value is missing');
    return value;
  };
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith('-') || arg === '-') {
      sources.push(arg);
      continue;
    }
    // Two dashes are one to ffprobe.
    const flag = arg.replace(/^--?/, '');
    const spec = BY_FLAG.get(flag);
    if (flag === 'i') sources.push(valueFor(flag));
    else if (FORMAT_FLAGS.includes(flag)) options['output_format'] = formatOf(flag, valueFor(flag));
    else if (LEVEL_FLAGS.includes(flag)) says = LOG_LEVELS[levelOf(flag, valueFor(flag))]! >= LOG_LEVELS['error']!;
    else if (flag === 'pretty') for (const name of PRETTY) options[name] = true;
    else if (flag === 'show_data_hash') options[flag] = md5(flag, valueFor(flag));
    else if (flag === 'show_log') options[flag] = levelOf(flag, valueFor(flag));
    else if (spec && !WITHOUT_EFFECT.includes(flag)) {
      const takesNone = spec.type === 'boolean' && spec.passed === undefined;
      options[spec.name] = valueOf(spec, flag, takesNone ? '' : valueFor(flag));
    } else if (!WITHOUT_EFFECT.includes(flag)) throw refused(flag, 'cannot be passed on to the service');
  }
  const [source] = sources;
  if (source === undefined) throw usage('ffprobe: no input: give a file or its address');
  if (sources.length > 1) throw usage(`ffprobe: ${sources.length} inputs, and it takes one`);
  return { source, options, says };
}

function md5(flag: string, value: string): true {
  if (value.toLowerCase() !== 'md5') throw refused(flag, 'MD5 alone can be passed on');
  return true;
}

/** Protocols of ffprobe that name what is on this machine. */
const STDIN = /^(?:-|(?:pipe|fd):0?)$/;

/** A reason why a file of this machine could not be opened, or the source. */
async function inputOf(text: string): Promise<GivenSource | NotOpened> {
  try {
    return await given(text);
  } catch (error) {
    const reason = error instanceof Failure ? reasonOf((error.cause as NodeJS.ErrnoException | undefined)?.code) : null;
    if (reason) return reason;
    throw error;
  }
}

async function given(text: string): Promise<GivenSource> {
  if (STDIN.test(text)) return { ...(await givenSource('-')), text: text === '-' ? 'fd:' : text };
  return { ...(await givenSource(text.replace(/^file:(?!\/\/)/, ''))), text };
}

const run: Run = async (invocation) => {
  const { source: text, options, says } = readFfprobe(invocation.positionals);
  const source = await inputOf(text);
  if ('string' in source) {
    const format = options['output_format'] as string;
    await invocation.terminal.data(notOpened(source, format, options['show_error'] === true));
    if (says) invocation.terminal.note(`${text}: ${source.string}`);
    return EXIT.failed;
  }
  return runTool({ tool: 'ffprobe', source, options, says }, invocation);
};
export default run;
