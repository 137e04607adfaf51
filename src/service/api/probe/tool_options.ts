/** The options of the tools as request fields, from the same tables from which the runner derives arguments. */
import Type, { type TSchema } from 'typebox';
import { OptionError, type OptionSpec } from '../../../media/tools/option.ts';
import type { ToolName } from '../../../media/tools/table.ts';
import type { Program } from '../../../media/tools/tool.ts';
import type { ToolRequest } from '../../../platform/kube/probe_job.ts';
import type { ToolVersion } from './tool_versions.ts';
import { invalid } from '../errors.ts';
import { choice, flag, optionalChoice, optionalText, PLAIN } from '../http/request_fields.ts';
import { ALIASES, FORM, OFF_WITH } from '../http/input/read_fields.ts';

/** Half of a ProbeJob's limit, because the two count characters differently. */
const MAX_TEXT = 512;

const helpOf = ({ description, flag: own, name }: OptionSpec): string =>
  description ?? `-${own ?? name} of the tool, where the version has it.`;
const boundsOf = ({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: OptionSpec) => ({ minimum, maximum });
const patternOf = ({ pattern }: OptionSpec): string => (pattern === undefined ? PLAIN : `^(?:${pattern})$`);

/** For clients that build a form. */
export const describedOption = (spec: OptionSpec) => ({
  name: spec.name,
  type: spec.type,
  default: spec.default,
  help: helpOf(spec),
  ...(spec.type === 'enum' ? { values: [...(spec.values ?? [])] } : {}),
  ...(spec.type === 'integer' || spec.type === 'number' ? boundsOf(spec) : {}),
  ...(spec.type === 'string' && spec.pattern !== undefined ? { pattern: patternOf(spec) } : {}),
});

/** A value, alone or with `=` and more behind it. What that may be is checked when the tool's options are. */
const suffixedChoice = (values: readonly string[], byDefault: OptionSpec['default'], description: string): TSchema =>
  Type.Unsafe<string>({
    type: 'string',
    maxLength: MAX_TEXT,
    pattern: `^(?:${values.join('|')})(?:=${PLAIN.slice(1, -1)})?$`,
    [FORM]: `must be one of ${values.join(', ')}`,
    default: byDefault,
    description,
  });

function fieldOf(spec: OptionSpec): TSchema {
  const description = helpOf(spec);
  const pattern = patternOf(spec);
  switch (spec.type) {
    case 'boolean':
      return flag(spec.default === true, description);
    case 'integer':
    case 'number':
      return Type.Unsafe({
        type: spec.default === null ? [spec.type, 'null'] : spec.type,
        ...boundsOf(spec),
        ...(spec.least === undefined ? {} : { not: { minimum: 1, maximum: spec.least - 1 } }),
        default: spec.default,
        description,
      });
    case 'enum':
      if (spec.suffixed) return suffixedChoice(spec.values ?? [], spec.default, description);
      return spec.default === null
        ? optionalChoice(spec.values ?? [], description)
        : choice(spec.values ?? [], String(spec.default), description);
    case 'string':
      return spec.default === null
        ? { ...optionalText(MAX_TEXT, description, pattern), ...(spec.form === undefined ? {} : { [FORM]: spec.form }) }
        : Type.String({ minLength: 1, maxLength: MAX_TEXT, pattern, default: spec.default, description });
  }
}

export const optionFields = (specs: readonly OptionSpec[]): Record<string, TSchema> =>
  Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      {
        ...fieldOf(spec),
        ...(spec.aliases ? { [ALIASES]: spec.aliases } : {}),
        ...(spec.offWith === undefined ? {} : { [OFF_WITH]: spec.offWith }),
      },
    ]),
  );

/** Plain decimals: not every tool accepts an exponent. */
const textOf = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(12).replace(/\.?0+$/, '') : String(value);

/**
 * Whether the chosen version lacks an option or the requested value. A version that reported nothing is assumed to have
 * only the documented ones.
 */
function lacks(spec: OptionSpec, value: string, options: ReadonlySet<string> | null): 'option' | 'value' | undefined {
  const { reported, extra = false } = spec;
  if (options === null) return extra ? 'option' : undefined;
  if (spec.flag !== undefined && !options.has(spec.flag)) return 'option';
  if (reported === undefined) return undefined;
  if (options.has(`!${reported}`)) return 'option';
  const values = [...options].filter((option) => option.startsWith(`${reported}=`));
  if (extra) return values.length === 0 ? 'option' : undefined;
  return values.length > 0 && !values.includes(`${reported}=${value}`) ? 'value' : undefined;
}

/** Null: the version does not have the option. Otherwise those of its named values that the version supports. */
export function acceptedValues(spec: OptionSpec, { options }: ToolVersion): readonly string[] | null {
  const { values = [], default: byDefault } = spec;
  const lacking = (values.length > 0 ? values : ['']).every((value) => lacks(spec, value, options) === 'option');
  if (lacking) return null;
  // The default is not passed, so every version supports it.
  return values.filter((value) => value === byDefault || lacks(spec, value, options) === undefined);
}

/**
 * A run of the tool, for the ProbeJob: options that differ from their default, as texts. Rejected if the chosen version
 * lacks an option. `nameOf`: the name of the request's field, for errors.
 */
export function toolRequest(
  { name, options: specs, agree }: Pick<Program<ToolName>, 'name' | 'options' | 'agree'>,
  wanted: Record<string, unknown>,
  { version, options: known }: ToolVersion,
  timeoutMs: number,
  nameOf = (option: string): string => `${name}.${option}`,
): ToolRequest {
  const options: Record<string, string> = {};
  for (const spec of specs) {
    const value = wanted[spec.name];
    if (value === undefined || value === null || value === spec.default) continue;
    const text = textOf(value);
    const lacking = lacks(spec, text, known);
    if (lacking !== undefined)
      throw invalid(
        nameOf(spec.name),
        `${name} ${version} does not have ${lacking === 'value' ? text : 'this option'}`,
      );
    options[spec.name] = text;
  }
  try {
    agree?.(options);
  } catch (error) {
    throw error instanceof OptionError ? invalid(nameOf(error.option), error.why) : error;
  }
  return { name, version, timeoutMs, ...(Object.keys(options).length > 0 ? { options } : {}) };
}
