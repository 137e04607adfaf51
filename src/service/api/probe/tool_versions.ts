/**
 * The tool versions that the cluster can run now, from its ProbeTools, and the resolution of requested versions. The
 * options of the tools as request fields, from the same tables from which the runner derives arguments.
 */
import Type, { type TSchema } from 'typebox';
import { byNewest, nearestVersion, versionFor } from '../../../base/version_order.ts';
import { HLS_VERSION } from '../../../media/hls/built_in.ts';
import { OptionError, type OptionSpec } from '../../../media/tools/option.ts';
import type { ToolName } from '../../../media/tools/table.ts';
import type { Program } from '../../../media/tools/tool.ts';
import { isAvailable, isBeingProven } from '../../../platform/kube/conditions.ts';
import type { ToolRequest } from '../../../platform/kube/probe_job.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import { ApiError, invalid } from '../errors.ts';
import { ALIASES, FORM, OFF_WITH } from '../http/input/read_fields.ts';
import { choice, flag, optionalChoice, optionalText, PLAIN } from '../http/request_fields.ts';

export interface ToolVersion {
  version: string;
  /** Command-line options reported by the binary itself, without their dashes; null if it reported none. */
  options: ReadonlySet<string> | null;
  /** The first line that the binary prints of its version. */
  reported?: string;
  /**
   * What of it a result depends on: image, command, and the proof, which names the image of the runners. Undefined: the
   * image has no digest, and may be another one tomorrow.
   */
  exact?: string;
  /** Of known vulnerabilities, where the operator wants it. */
  warning?: string;
}

export type Catalog = ReturnType<typeof catalogOf>;

const PINNED = /@sha256:[0-9a-f]{64}$/;

const isKept = ({ metadata }: ProbeTool): boolean => metadata.deletionTimestamp === undefined;

/**
 * A pool may have nodes of several architectures: an option counts as known if all of them know it, and as missing
 * (`!name`) if one of them lacks it.
 */
function optionsOf(tool: ProbeTool): ReadonlySet<string> | null {
  const lists = (tool.status?.architectures ?? [])
    .map(({ options }) => options ?? [])
    .filter((options) => options.length > 0);
  const [first, ...rest] = lists.map((options) => new Set(options.map((option) => option.replace(/^-+/, ''))));
  if (!first) return null;
  const lacking = [first, ...rest].flatMap((options) => [...options].filter((option) => option.startsWith('!')));
  return new Set([...[...first].filter((option) => rest.every((other) => other.has(option))), ...lacking]);
}

/** The reason of the error of such a version. */
export const BEING_PROVEN = 'tool';
/** It may be there in a moment: a caller may try again, and a batch goes on. */
const beingProven = (tool: ToolName, version: string): ApiError =>
  new ApiError('unavailable', {
    text: `${tool}.version: the image of "${version}" is being tried in this cluster; try again in a minute`,
    reason: BEING_PROVEN,
  });

export function catalogOf(tools: readonly ProbeTool[]) {
  const byTool = new Map<ToolName, { latest: string | undefined; versions: Map<string, ToolVersion> }>();
  // Built in.
  byTool.set('msv', {
    latest: HLS_VERSION,
    versions: new Map([[HLS_VERSION, { version: HLS_VERSION, options: null, exact: HLS_VERSION }]]),
  });
  const kept = tools.filter(isKept);
  const tried = kept.filter(isBeingProven).map(({ spec }) => `${spec.tool} ${spec.version}`);
  for (const tool of kept.filter(isAvailable).sort((a, b) => byNewest(a.spec.version, b.spec.version))) {
    const entry = byTool.get(tool.spec.tool) ?? { latest: undefined, versions: new Map() };
    byTool.set(tool.spec.tool, entry);
    const { warning, reported, proof } = tool.status ?? {};
    const { image, command } = tool.spec;
    entry.versions.set(tool.spec.version, {
      version: tool.spec.version,
      options: optionsOf(tool),
      ...(reported === undefined ? {} : { reported }),
      ...(warning === undefined ? {} : { warning }),
      ...(PINNED.test(image) ? { exact: JSON.stringify([image, command, proof]) } : {}),
    });
    if (tool.spec.latest === true) entry.latest ??= tool.spec.version;
  }
  const versions = (tool: ToolName): string[] => [...(byTool.get(tool)?.versions.keys() ?? [])];

  return {
    versions,
    /** `exact` of a version by its exact name. */
    exactly: (tool: ToolName, version: string): string | undefined => byTool.get(tool)?.versions.get(version)?.exact,
    /** The exact version for `latest`, `6.1`, or `6` (the newest 6.x); throws an error for the caller. */
    resolve(tool: ToolName, version: string): ToolVersion {
      const known = byTool.get(tool);
      if (tried.includes(`${tool} ${version}`)) throw beingProven(tool, version);
      if (!known) {
        throw version === 'latest'
          ? new ApiError('tool-unavailable', { text: `${tool}: no version is ready in this cluster` })
          : invalid(`${tool}.version`, `"${version}" is not available; no version of ${tool} is ready in this cluster`);
      }
      const all = versions(tool);
      // The operator's mark decides. If that version is not ready, the newest one is used as the latest.
      const found = known.versions.get(versionFor(version, all, known.latest) ?? '');
      if (found) return found;
      const nearest = nearestVersion(version, all);
      throw invalid(
        `${tool}.version`,
        `"${version}" is not available; available: latest, ${all.join(', ')}` +
          (nearest === undefined ? '' : `; nearest: ${nearest}`),
      );
    },
  };
}

// Options.

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
