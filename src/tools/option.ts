/**
 * What an option of a tool is. One table per tool: the API validates and describes requests by it, the runner makes
 * arguments of it.
 */

export interface OptionSpec {
  /** As callers write it, and other names that they may write instead. */
  name: string;
  aliases?: readonly string[];
  type: 'boolean' | 'integer' | 'number' | 'string' | 'enum';
  values?: readonly string[];
  default: string | number | boolean | null;
  /**
   * The tool's own name for it, without dashes. Absent where nothing of the kind is passed, or the tool does not list
   * it in its help.
   */
  flag?: string;
  /**
   * The name by which a version reports which values it has (`Output=XML`), or that it lacks the option (`!Language`).
   * An extra option is there where any value is reported.
   */
  reported?: string;
  minimum?: number;
  maximum?: number;
  /** The least that the tool takes; 0, which is not passed, is fine too. */
  least?: number;
  /** What the whole text must match, and in words for errors; `lines`: it may have line feeds. */
  pattern?: string;
  form?: string;
  lines?: boolean;
  /** What is passed for true; absent: the flag alone. A boolean of a tool's libraries takes a value. */
  passed?: string;
  /**
   * Beyond the options of the first interface, which every version is taken to have: refused where the chosen version
   * did not report it. New options are extra.
   */
  extra?: boolean;
  /**
   * Away from its default it changes the form of the output, leaves out what a report needs, or makes the output too
   * large to be read twice (frames, packets): the tool runs once more for the report, without it.
   */
  shapes?: boolean;
  description?: string;
}

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

/**
 * Every option of the table with its value, from the texts of a job: what a job leaves out has its default. Throws an
 * OptionError.
 */
export function readOptions(
  table: readonly OptionSpec[],
  texts: Record<string, string>,
): Map<OptionSpec, string | number | boolean | null> {
  const known = new Set(table.map(({ name }) => name));
  for (const name of Object.keys(texts)) if (!known.has(name)) throw new OptionError(name, 'there is no such option');
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
    throw new OptionError(name, 'is too long or holds control characters');
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
      if (!spec.values?.includes(text)) throw new OptionError(name, `must be one of ${spec.values?.join(', ')}`);
      return text;
    case 'string':
      if (text === '') throw new OptionError(name, 'must not be empty');
      if (spec.pattern !== undefined && !new RegExp(`^(?:${spec.pattern})$`, 'u').test(text))
        throw new OptionError(name, spec.form ?? 'is not of the right form');
      return text;
  }
}
