/** The writers of ffprobe and their options: `csv=p=0:s=x` is the writer `csv` without sections, with `x` between. */
import { OptionError } from './option.ts';

interface WriterOption {
  name: string;
  short: string;
  accepts: RegExp;
  /** What it accepts, for errors. */
  form: string;
}

export interface WriterFormat {
  writer: string;
  /** By full name, as ffprobe reads them. */
  options: Readonly<Record<string, string>>;
}

const ON = ['1', 'true', 'y', 'yes', 'enable', 'enabled', 'on'];
const OFF = ['0', 'false', 'n', 'no', 'disable', 'disabled', 'off'];
const SWITCH = new RegExp(`^(?:${[...ON, ...OFF].join('|')})$`);

const optionOf = (name: string, short: string, accepts: RegExp, form: string): WriterOption => ({
  name,
  short,
  accepts,
  form,
});
const toggle = (name: string, short: string): WriterOption => optionOf(name, short, SWITCH, '0 or 1');
const sign = (name: string): WriterOption =>
  optionOf(name, 's', /^[ -~]$/, 'one character of ASCII; `:`, a blank, a quote and a backslash behind a backslash');
const escaping = optionOf('escape', 'e', /^(?:c|csv|none)$/, 'c, csv or none');

const BETWEEN = [sign('item_sep'), toggle('nokey', 'nk'), escaping, toggle('print_section', 'p')];

/** Of every writer: what becomes of text that is not UTF-8. */
const COMMON: readonly WriterOption[] = [
  optionOf('string_validation', 'sv', /^(?:ignore|replace|fail|[0-2])$/, 'ignore, replace or fail'),
  optionOf('string_validation_replacement', 'svr', /^[ -~]{1,16}$/, 'at most 16 characters of ASCII'),
];

const WRITERS: Readonly<Record<string, readonly WriterOption[]>> = {
  default: [toggle('noprint_wrappers', 'nw'), toggle('nokey', 'nk')],
  compact: BETWEEN,
  csv: BETWEEN,
  flat: [sign('sep_char'), toggle('hierarchical', 'h')],
  ini: [toggle('hierarchical', 'h')],
  json: [toggle('compact', 'c')],
  xml: [toggle('fully_qualified', 'q'), toggle('xsd_strict', 'x')],
};

export const WRITER_NAMES = Object.keys(WRITERS);

export const writerOptions = (writer: string): readonly WriterOption[] => [...(WRITERS[writer] ?? []), ...COMMON];

/** The name before the first `=`, of a value that was read or may be wrong. */
export const writerOf = (format: unknown): string => String(format ?? 'json').split('=', 1)[0]!;

const isOn = (value: string | undefined): boolean => value !== undefined && ON.includes(value);
/** Whether a writer has an option on, with what it does where nothing is said. */
export const switched = ({ options }: WriterFormat, name: string, byDefault = false): boolean =>
  options[name] === undefined ? byDefault : isOn(options[name]);

const wrong = (why: string): OptionError => new OptionError('output_format', why);

/** A backslash takes the next character as it is, and single quotes all that is between them. */
const PAIR = /([^=:]*)=((?:\\.|'[^']*'|[^\\':])+)(?::|$)/y;
const PART = /\\(.)|'([^']*)'|([^\\']+)/g;

/** Blanks around a value do not count, unless they are escaped or quoted. */
const plain = (text: string): string =>
  text
    .replace(/^[ \t]+/, '')
    .replace(/(?<!\\)[ \t]+$/, '')
    .replaceAll(PART, (_, escaped?: string, quoted?: string, bare?: string) => escaped ?? quoted ?? bare ?? '');

function pairsIn(writer: string, text: string): [string, string][] {
  const pairs: [string, string][] = [];
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < text.length) {
    const [, name, value] = PAIR.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw wrong(`the options of ${writer} must be NAME=VALUE, with a colon between two, as in csv=p=0:s=x`);
    pairs.push([name.trim(), plain(value)]);
  }
  return pairs;
}

/** A format with its options. Throws an OptionError. */
export function readWriter(format: string): WriterFormat {
  const writer = writerOf(format);
  if (!WRITER_NAMES.includes(writer)) throw wrong(`must be one of ${WRITER_NAMES.join(', ')}`);
  const known = writerOptions(writer);
  const options: Record<string, string> = {};
  for (const [name, value] of pairsIn(writer, format.slice(writer.length + 1))) {
    const option = known.find((one) => one.name === name || one.short === name);
    if (!option) {
      const named = /^\w{1,40}$/.test(name) ? ` "${name}"` : ' of that name';
      throw wrong(`${writer} has no option${named}; accepted: ${known.map(({ short }) => short).join(', ')}`);
    }
    if (!option.accepts.test(value)) throw wrong(`${option.short} of ${writer} must be ${option.form}`);
    options[option.name] = value;
  }
  return { writer, options };
}
