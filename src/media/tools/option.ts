/**
 * The definition of a tool option. There is one table per tool: the API validates and describes requests by it, the
 * runner derives arguments from it.
 */

export interface OptionSpec {
  /** The name for callers, and accepted aliases. */
  name: string;
  aliases?: readonly string[];
  type: 'boolean' | 'integer' | 'number' | 'string' | 'enum';
  values?: readonly string[];
  /** `=` and more may follow a value (`csv=p=0`). `agree` of the tool reads it. */
  suffixed?: boolean;
  default: string | number | boolean | null;
  /** The tool's own name, without dashes. Absent if no such flag is passed, or the tool's help does not list it. */
  flag?: string;
  /**
   * The name under which a version reports supported values (`Output=XML`), or a missing option (`!Language`). An extra
   * option is available if any value is reported.
   */
  reported?: string;
  minimum?: number;
  maximum?: number;
  /** The smallest value that the tool accepts, except 0, which is not passed. */
  least?: number;
  /** Pattern of the whole text, and its description for errors; `lines`: line feeds are allowed. */
  pattern?: string;
  form?: string;
  lines?: boolean;
  /** The value passed for true; absent: only the flag. Booleans of a tool's libraries take a value. */
  passed?: string;
  /**
   * An option added after the first version of the API, whose options every version is assumed to have. It is refused
   * if the chosen version did not report it. New options are extra.
   */
  extra?: boolean;
  /**
   * If not the default, it changes the form of the output, omits what a report needs, or makes the output too large to
   * be read twice (frames, packets). The tool then runs once more for the report, without it.
   */
  shapes?: boolean;
  /** Of a boolean that is true by default: the default is false if this other option is sent. */
  offWith?: string;
  description?: string;
}

/** A switch that is off by default. */
export const toggle = (name: string, description: string, more: Partial<OptionSpec> = {}): OptionSpec => ({
  name,
  type: 'boolean',
  default: false,
  description,
  ...more,
});

export class OptionError extends Error {
  readonly code = 'option-invalid';
  readonly option: string;
  /** The message without the option's name. */
  readonly why: string;
  constructor(option: string, why: string) {
    super(`${option}: ${why}`);
    this.name = 'OptionError';
    this.option = option;
    this.why = why;
  }
}

const MAX_TEXT = 1024;
const WHOLE = /^-?\d{1,16}$/;
const DECIMAL = /^-?\d{1,12}(\.\d{1,12})?$/;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/;

/** All options of the table with their values from a job's texts, or their defaults. Throws an OptionError. */
export function readOptions(
  table: readonly OptionSpec[],
  texts: Record<string, string>,
): Map<OptionSpec, string | number | boolean | null> {
  const known = new Set(table.map(({ name }) => name));
  for (const name of Object.keys(texts)) if (!known.has(name)) throw new OptionError(name, 'is unknown');
  return new Map(
    table.map((spec) => {
      const text = Object.hasOwn(texts, spec.name) ? texts[spec.name] : undefined;
      return [spec, text === undefined ? spec.default : readOption(spec, text)];
    }),
  );
}

function readOption(spec: OptionSpec, text: string): string | number | boolean {
  const { name } = spec;
  if (text.length > MAX_TEXT || CONTROL.test(spec.lines ? text.replaceAll('\n', '') : text))
    throw new OptionError(name, 'is too long or contains control characters');
  switch (spec.type) {
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new OptionError(name, 'must be true or false');
      return text === 'true';
    case 'integer':
    case 'number': {
      const value = (spec.type === 'integer' ? WHOLE : DECIMAL).test(text) ? Number(text) : Number.NaN;
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = spec;
      if (!(value >= minimum && value <= maximum))
        throw new OptionError(
          name,
          `must be a${spec.type === 'integer' ? ' whole' : ''} number from ${minimum} to ${maximum}`,
        );
      if (value !== 0 && value < (spec.least ?? minimum))
        throw new OptionError(name, `must be 0, or at least ${spec.least}`);
      return value;
    }
    case 'enum':
      if (!spec.values?.includes(spec.suffixed ? text.split('=', 1)[0]! : text))
        throw new OptionError(name, `must be one of ${spec.values?.join(', ')}`);
      return text;
    case 'string':
      if (text === '') throw new OptionError(name, 'must not be empty');
      if (spec.pattern !== undefined && !new RegExp(`^(?:${spec.pattern})$`, 'u').test(text))
        throw new OptionError(name, spec.form ?? 'has an invalid format');
      return text;
  }
}
