/**
 * A request of `/v1/probe/file`: its schema, which is the single source of its validation, type and description, the
 * tools that it runs and that its response shows, and the `ProbeRequest` made of it.
 */
import Type, { type Static } from 'typebox';
import { MAX_TIMEOUT_MS, MOST_CACHE_AGE_S, TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import { asksForIntegrity, checksOf } from '../../../media/policy/needs.ts';
import type { Policy } from '../../../media/policy/schema.ts';
import { ffprobe } from '../../../media/tools/ffprobe.ts';
import { qc } from '../../../media/tools/qc.ts';
import { probeReport, type FramesOption, type ReportTool } from '../../../media/tools/probe_report.ts';
import { FILE_ROWS, sectionOf, SECTIONS, type FileTool, type SectionName } from '../../../media/tools/table.ts';
import { SCHEMES } from '../../../source/protocols/table.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { DESCRIBED_AS, FORM } from '../http/input/read_fields.ts';
import { type Asker, tokenOf } from '../http/request_context.ts';
import {
  choice,
  closed,
  flag,
  milliseconds,
  nonEmpty,
  optionalChoice,
  optionalWhole,
  options,
} from '../http/request_fields.ts';
import { cacheAsked } from './cache_key.ts';
import { probeRequest, type ProbeRequest } from './probe_request.ts';
import { MAX_ADDRESS, SOURCE_FIELDS, timeFields, WEBHOOK_FIELDS } from './request_source.ts';
import { askedPolicy, PolicyField } from '../policies/asked_policy.ts';
import { type Catalog, optionFields, toolRequest } from './tool_versions.ts';

const toolTimeout = (byDefault = TOOL_TIMEOUT_MS) =>
  milliseconds(byDefault, MAX_TIMEOUT_MS, 'Time limit of this tool in milliseconds; at most that of the request.');

/** A request's section of one tool: whether it runs and, if it can be tuned, how. */
interface AskedTool extends Record<string, unknown> {
  enabled: boolean;
  version?: string;
  timeout: number;
}

/** Without a default: a policy may name the version that it is written for. */
const pinnedVersion = (name: string) =>
  Type.Optional(
    nonEmpty(
      64,
      `A version of ${name}, or the beginning of one: \`6\` stands for the newest 6.x that is available. Default: ` +
        'that of `uses` in the policy, else latest.',
    ),
  );

const schemaOf = (row: (typeof FILE_ROWS)[number]) => {
  const { name, file, options: specs } = row;
  const byDefault = 'timeoutMs' in row ? row.timeoutMs : undefined;
  const members = options(
    {
      enabled: flag(file.byDefault, file.enables),
      ...(file.tunable ? { version: pinnedVersion(name), timeout: toolTimeout(byDefault) } : {}),
      ...optionFields(specs),
    },
    file.description,
  );
  return Type.Unsafe<AskedTool>(file.lenient ? { ...members, additionalProperties: true } : members);
};
const sections = Object.fromEntries(FILE_ROWS.map((row) => [sectionOf(row), schemaOf(row)])) as Record<
  SectionName,
  ReturnType<typeof schemaOf>
>;

const LIST = SCHEMES.join(', ');

/** Optional only where a file can be sent. */
export const UrlField = nonEmpty(
  MAX_ADDRESS,
  `The source, with or without credentials; playlists and manifests too. Schemes: ${LIST}. Required, ` +
    'unless a `file` is sent.',
  { examples: ['https://media.example.com/film.mp4'] },
);

export const ProbeFileSchema = closed({
  url: Type.Optional(UrlField),
  // A file is taken out of the form before its fields are checked: what is left under this name is none.
  file: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      pattern: '^(?!)',
      [FORM]: 'must be a file: a part of multipart/form-data with a file name',
      [DESCRIBED_AS]: { type: 'string', format: 'binary' },
      description:
        'Instead of `url`, POST with `multipart/form-data` only: the file itself. It is stored encrypted until the ' +
        'request ends.',
    }),
  ),
  ...SOURCE_FIELDS,
  ...timeFields(TIMEOUT_MS),
  only: optionalChoice(SECTIONS, 'Run only this tool; the response is the envelope with its result.'),
  // Without a default: an operator can make true the default.
  inject_output: Type.Optional(Type.Boolean({ description: 'With `only`: the body is the bare output of that tool.' })),
  output: choice(['json'], 'json', 'Format of the envelope.'),
  inject_json: flag(false, 'One document: the results of the other tools become members of the first one.'),
  timeline: options(
    {
      enabled: flag(
        false,
        'Run ffprobe once more, over all packets, and keep bit rate, key frames, gaps and jumps over time: read ' +
          'them at `/v1/probe/{request_id}/timeline`. The whole source is read, within `timeout`.',
      ),
    },
    'The timeline.',
  ),
  cache: options(
    {
      max_age: optionalWhole(
        0,
        MOST_CACHE_AGE_S,
        'Answer with the result of an equal request of this account that read the same file at most so many seconds ' +
          'ago; its host is asked whether the file has changed. 0: the file is read. Default: null, the ' +
          '`cache-max-age` of the token, which is 0 unless it was set.',
      ),
    },
    'Whether a result of an equal request may answer this one. Without effect, and named in `X-Ignored-Fields`, with ' +
      'a sent file, `headers`, `cookies`, `credential`, keys of a bucket, playlists, streams, and addresses that ' +
      'are not `http` or `https`.',
  ),
  policy: PolicyField,
  ...WEBHOOK_FIELDS,
  ...sections,
});
export type ProbeFile = Static<typeof ProbeFileSchema>;

/** Removes unknown members from sections that accept them, and returns their names. */
export function takeIgnored(fields: ProbeFile): string[] {
  return FILE_ROWS.filter(({ file }) => file.lenient).flatMap((row) => {
    const section = sectionOf(row);
    const known = Object.keys((sections[section] as unknown as { properties: object }).properties);
    const ignored = Object.keys(fields[section]).filter((name) => !known.includes(name));
    for (const name of ignored) delete fields[section][name];
    return ignored.map((name) => `${section}.${name}`);
  });
}

/** A verdict must not depend on what the caller chooses to see. */
const judgedBy = (policy: Policy, catalog: Catalog): FileTool[] => [
  probeReport.name,
  ...checksOf(policy).filter((check) => catalog.versions(check).length > 0),
];

/** The sections that the caller requested: those of the response, without tools that run only for the report. */
function shownOf(request: Pick<ProbeFile, 'only' | SectionName>): FileTool[] {
  const wanted = FILE_ROWS.filter((row) =>
    request.only === null ? request[sectionOf(row)].enabled : sectionOf(row) === request.only,
  );
  const shown = wanted.map(({ name }) => name);
  if (shown.length === 0) throw new ApiError('invalid-field', { text: 'all tools are disabled' });
  return shown;
}

/** A report is derived from the output of its readers: if the caller requested none of them, all of them run for it. */
function runOf(request: Pick<ProbeFile, SectionName>, shown: FileTool[]) {
  const programs = FILE_ROWS.filter((row) => 'args' in row);
  const asked = programs.filter(({ name }) => shown.includes(name));
  if (!shown.includes(probeReport.name)) return asked;
  const readers = programs.filter(({ name }) => probeReport.from.some((reader) => reader === name));
  const enabled = readers.filter((row) => request[sectionOf(row)].enabled);
  return [...new Set([...asked, ...(enabled.length > 0 ? enabled : readers)])];
}

/**
 * `policy`: the policy to evaluate. Its tools, and ffprobe for a timeline and for content checks, run in addition to
 * the requested ones, and are not shown.
 */
export function selectTools(request: ProbeFile, catalog: Catalog, policy: Policy | null = null) {
  const shown = shownOf(request);
  const pinned: Partial<Record<FileTool, string>> = policy?.uses ?? {};
  const wanting = [...shown, ...(policy ? judgedBy(policy, catalog) : [])];
  const needsStreams = request.timeline.enabled || wanting.includes(qc.name);
  const wantedBy = [...wanting, ...(needsStreams ? [ffprobe.name] : [])];
  const tools = runOf(request, wantedBy).map((program) => {
    const { name, file } = program;
    const wanted =
      name === qc.name && policy && asksForIntegrity(policy)
        ? { ...request.qc, integrity: true }
        : request[sectionOf(program)];
    if (!file.tunable && catalog.versions(name).length === 0) throw invalid(name, 'is not available in this cluster');
    const resolved = catalog.resolve(name, file.tunable ? (wanted.version ?? pinned[name] ?? 'latest') : 'latest');
    const timeoutMs = file.tunable ? Math.min(wanted.timeout, request.timeout) : request.timeout;
    return toolRequest(program, wanted, resolved, timeoutMs);
  });
  return { tools, shown, report: reportOf(request, shown) };
}

function reportOf(request: ProbeFile, shown: FileTool[]): ProbeRequest['report'] {
  if (!shown.includes(probeReport.name)) return { enabled: false };
  const { diff, prefer, frames } = request[probeReport.name] as AskedTool & {
    diff: boolean;
    prefer: ReportTool | null;
    frames: FramesOption;
  };
  return { enabled: true, diff, ...(prefer === null ? {} : { prefer }), ...(frames === 'auto' ? {} : { frames }) };
}

/** For a tool whose output format the caller chooses. */
function bareType(fields: ProbeFile): { bareType?: string } {
  const only = FILE_ROWS.find((row) => sectionOf(row) === fields.only);
  const formats = only && 'args' in only ? only.formats : undefined;
  return only && formats ? { bareType: formats.mediaType(formats.of(fields[sectionOf(only)])) } : {};
}

/** A request without one of these is the same as before there were any, to an idempotency key, too. */
function asSent(fields: ProbeFile, tools: ProbeRequest['tools']): Omit<ProbeFile, 'timeline' | 'qc' | 'cache'> {
  const { timeline, qc: checks, cache, ...others } = fields;
  return {
    ...others,
    ...(cache.max_age === null ? {} : { cache }),
    ...(timeline.enabled ? { timeline } : {}),
    ...(tools.some(({ name }) => name === qc.name) ? { qc: checks } : {}),
  };
}

/** Of fields without those to ignore. `revision`: of the policy that they name; null for the latest. */
export async function fileRequest(
  deps: Deps,
  by: Asker,
  fields: ProbeFile,
  revision: number | null = null,
): Promise<ProbeRequest> {
  const policy = await askedPolicy(deps, by, fields.policy, revision);
  const { tools, shown, report } = selectTools(fields, deps.catalog(), policy?.policy);
  for (const row of FILE_ROWS) if (row.file.tunable) fields[sectionOf(row)].version ??= 'latest';
  const response = {
    shown,
    injectOutput: fields.only !== null && (fields.inject_output ?? (policy === null && deps.settings.onlyReturnsRaw)),
    injectJson: fields.inject_json,
    ...bareType(fields),
  };
  const own = { kind: 'file', tools, report, response, policy, timeline: fields.timeline.enabled } as const;
  const request = probeRequest(deps, by, asSent(fields, tools), own);
  const token = tokenOf(by);
  const maxAge = fields.cache.max_age ?? token.limits.cacheMaxAgeS;
  const secret = maxAge === 0 ? undefined : deps.cache.secret();
  if (secret === undefined) return request;
  return { ...request, cache: cacheAsked(request, maxAge, { token, catalog: deps.catalog(), secret }) };
}
