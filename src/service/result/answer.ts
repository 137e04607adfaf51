/**
 * Converts a stored result to the response in the form requested by the caller. The outcome of the request was decided
 * when it was recorded, and is not decided again here. Tool output is preserved byte for byte: it is copied, never
 * parsed and serialized again. That an output is JSON was checked when it was collected, because a runner reads hostile
 * media.
 */
import { codeMember } from '../../base/causes.ts';
import { compareRuns } from '../../media/compare/compare.ts';
import type { Comparison } from '../../media/compare/schema.ts';
import type { QcWaived } from '../../media/qc/waived.ts';
import { probeReport } from '../../media/tools/probe_report.ts';
import {
  FILE_ROWS,
  FILE_TOOLS,
  sectionOf,
  shownName,
  TOOL_TABLE,
  TOOLS,
  type EndpointTool,
  type FileTool,
  type ResultName,
  type SectionName,
} from '../../media/tools/table.ts';
import { SIDES, sideText, type FromCache } from '../../platform/bus/messages.ts';
import type { Output, ResultBody, TimelineResult, ToolResult } from '../../platform/bus/result_body.ts';
import { shapeOf } from './outputs.ts';
import { joined, partOf, quoted, wholeOf, type Piece } from './pieces.ts';
import type { Unpacked } from './unpack.ts';
import { verdictOf, type NamedPolicy } from './verdict.ts';

/** The form of a response. */
export interface ResponseForm {
  /** Set for an endpoint of one tool, whose responses have their own form. */
  single?: EndpointTool;
  /** Set for a comparison, whose response contains the differences between its runs and no output. */
  compared?: true;
  /** Without tools that ran only for the report. */
  shown: readonly FileTool[];
  /** With one tool shown: the body is its bare output. */
  injectOutput: boolean;
  /** Media type of the bare output, if it is not JSON. */
  bareType?: string;
  /** JSON is an object in the response, and not a text that contains one. */
  injectJson: boolean;
  /** The policy named by the request: its verdict is included in the envelope. */
  policy?: NamedPolicy | undefined;
  /** Of its webhook; absent: plain. */
  webhookFormat?: 'cloudevents';
}

export const COMPARED: ResponseForm = { compared: true, shown: [], injectOutput: false, injectJson: false };

/** Any other end is returned as its status and error only. */
export const hasEnvelope = ({ hasBody, status }: { hasBody: boolean; status: number | null }): boolean =>
  hasBody && status === 200;

/** Requested sections that did not run, because the source is of another kind. */
export const skippedSections = ({ skipped = [] }: ResultBody, { shown }: ResponseForm): SectionName[] =>
  FILE_ROWS.filter(({ name }) => shown.includes(name) && skipped.some((tool) => tool === name)).map(sectionOf);

/** `withoutOutputs`: leaves the tools' outputs out, because the whole would be too large. */
export const answerOf = (
  { result, outputs }: Unpacked,
  recorded: Recorded,
  form: ResponseForm,
  { withoutOutputs = false } = {},
): Answer => {
  if (form.compared) return assembleComparison(result, recorded);
  const options = { ...recorded, ...form, outputs, withoutOutputs };
  return form.single === undefined
    ? assemble(result, options)
    : assembleSingle(result, { ...options, tool: form.single });
};

/** The recorded end of a request. */
export interface Recorded {
  requestId: string;
  queueTimeMs: number;
  error: string | null;
  cache?: FromCache | undefined;
  /** Findings of content checks that are waived now. */
  waived?: readonly QcWaived[];
}

function metadataOf({ ioUsage, origin }: ResultBody, { requestId, queueTimeMs, cache }: Omit<Recorded, 'error'>) {
  // What was read for the result was read by another request.
  if (cache) {
    const from = { ...(cache.requestId === undefined ? {} : { request_id: cache.requestId }), age: cache.ageS };
    return { request_id: requestId, queue_time: Math.round(queueTimeMs), io_usage: cache.ioBytes, cache: from };
  }
  const metadata = { request_id: requestId, queue_time: Math.round(queueTimeMs), io_usage: ioUsage };
  // Absent in ends that the leader records.
  if (!origin) return metadata;
  // Only what is known: a runner may send anything beside it.
  const uses = TOOLS.flatMap((tool) => {
    const use = origin[tool];
    if (!use) return [];
    const { requests, connections, bytes, ms } = use;
    return [[shownName(tool), { requests, connections, bytes, ms }] as const];
  });
  return { ...metadata, origin: Object.fromEntries(uses) };
}

// Of several tools: the envelope, or the bare output of one.

/** With what an answer is made. Absent `shown`: all sections. */
export interface AnswerOptions extends Omit<Recorded, 'error'>, Partial<ResponseForm> {
  /** Leaves the outputs, and what the envelope has of them, out. */
  withoutOutputs?: boolean;
  /** The outputs, if they are in memory. */
  outputs: Buffer | null;
}

export interface Answer {
  contentType: string;
  /** In pieces (pieces.ts) if the outputs are not in memory. */
  body: string | Piece[];
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Media type of a failed tool's partial output, whatever its format. */
const TEXT_TYPE = 'text/plain; charset=utf-8';

export function assemble(result: ResultBody, options: AnswerOptions): Answer {
  const shown = options.shown ?? FILE_TOOLS;
  const all = new Map<ResultName, Told>();
  for (const tool of result.tools) all.set(tool.name, tool);
  if (result.report) all.set(probeReport.name, costing(result.report, result.tools, shown));
  const told = FILE_ROWS.filter(({ name }) => shown.includes(name)).flatMap((row) => {
    const tool = all.get(row.name);
    return tool ? [{ name: sectionOf(row), tool }] : [];
  });
  const only = options.shown?.length === 1 ? told[0] : undefined;
  if (only && options.injectOutput) return bare(only.tool, options);
  const parts = told.map((one): Part => ({ ...one, response: options.withoutOutputs ? [] : responseOf(one.tool) }));
  if (options.injectJson && !only && !options.withoutOutputs) inject(parts, options.outputs);
  return { contentType: JSON_TYPE, body: joined(envelope(parts, result, options), options.outputs) };
}

type Told = Omit<ToolResult, 'name'>;

/** Tools that are not shown ran only for the report, so their time counts as the report's. */
function costing(report: Told, tools: readonly ToolResult[], shown: readonly FileTool[]): Told {
  const readers: readonly string[] = probeReport.from.filter((name) => !shown.includes(name));
  const hidden = tools.filter(({ name }) => readers.includes(name));
  if (hidden.length === 0) return report;
  return {
    ...report,
    usageMs: hidden.reduce((sum, { usageMs }) => sum + usageMs, report.usageMs),
    durationMs: report.durationMs + Math.max(...hidden.map(({ durationMs }) => durationMs)),
  };
}

interface Part {
  name: SectionName;
  tool: Told;
  /** JSON text. */
  response: Piece[];
}

/** A JSON output unchanged, other output as a JSON string, no output as null. */
function responseOf({ format, output }: Told): Piece[] {
  if (output === null) return ['null'];
  return format === 'json' ? [wholeOf(output)] : quoted(output);
}

function bare(tool: Told, { outputs, bareType = TEXT_TYPE }: AnswerOptions): Answer {
  const { format, output, error, success } = tool;
  if (output === null)
    return { contentType: JSON_TYPE, body: JSON.stringify({ success: false, error, ...codeMember(tool) }) };
  const printed = success && bareType !== JSON_TYPE ? bareType : TEXT_TYPE;
  return { contentType: format === 'json' ? JSON_TYPE : printed, body: joined([wholeOf(output)], outputs) };
}

function envelope(
  parts: Part[],
  result: ResultBody,
  { policy, withoutOutputs = false, waived = [], ...recorded }: AnswerOptions,
): Piece[] {
  const verdict = verdictOf(result, policy);
  const success = parts.some(({ tool }) => tool.success);
  const head = {
    success,
    ...(success ? {} : { error: parts[0]?.tool.error ?? 'no tool returned a result', ...codeMember(parts[0]?.tool) }),
    metadata: metadataOf(result, recorded),
  };
  return [
    JSON.stringify(head).slice(0, -1),
    ...parts.flatMap(({ name, tool, response }) => [
      `,${JSON.stringify(name)}:${section(tool).slice(0, -1)}`,
      ...(withoutOutputs ? [] : [',"response":', ...response]),
      ...(name === 'qc' && waived.length > 0 ? [`,"waived":${JSON.stringify(waived)}`] : []),
      '}',
    ]),
    ...(result.timeline ? [`,"timeline":${section(result.timeline)}`] : []),
    ...(verdict ? [`,"policy":${JSON.stringify(verdict)}`] : []),
    ...taggedMember(result),
    '}',
  ];
}

/** Only what is known: a runner may send anything beside it. */
function taggedMember({ tagged }: ResultBody): string[] {
  if (!tagged) return [];
  const { written, code, message } = tagged;
  return [`,"tagged":${JSON.stringify(written ? { written } : { written, code, message })}`];
}

type SectionHead = Omit<TimelineResult, 'output'> & Partial<Pick<ToolResult, 'exitCode' | 'failure'>>;

const section = ({ success, durationMs, usageMs, error, exitCode = null, ...why }: SectionHead): string =>
  JSON.stringify({
    success,
    duration: Math.round(durationMs),
    usage: Math.round(usageMs),
    ...(success
      ? {}
      : { error: error ?? 'failed', ...codeMember(why), ...(exitCode === null ? {} : { exit_code: exitCode }) }),
  });

const HOSTS: ReadonlySet<SectionName> = new Set(FILE_ROWS.flatMap((row) => (row.file.hosts ? [sectionOf(row)] : [])));

/**
 * Null if the output is not an object. Otherwise whether it has a given member, whether it has any, and the text before
 * and after the end of its members.
 */
function hostOf(
  { tool: { format, output } }: Part,
  outputs: Buffer | null,
): { has(name: string): boolean; isEmpty: boolean; halves: [Piece, string] } | null {
  if (output === null || format !== 'json') return null;
  const shape = output.json ?? (outputs && shapeOf(outputs.subarray(output.from, output.to)));
  if (!shape?.isObject) return null;
  return {
    has: (name) => name in shape.members,
    isEmpty: shape.isEmpty,
    halves: [partOf(output, { from: 0, to: shape.close }), `}${shape.tail}`],
  };
}

/**
 * Merges into one document: the first host whose response is an object also contains the responses of later results
 * that succeeded. Its own members take precedence.
 */
function inject(parts: Part[], outputs: Buffer | null): void {
  for (const [place, part] of parts.entries()) {
    const host = HOSTS.has(part.name) ? hostOf(part, outputs) : null;
    if (!host) continue;
    const guests = parts.slice(place + 1).filter(({ name, tool }) => tool.success && !host.has(name));
    if (guests.length === 0) return;
    const added = guests.flatMap(({ name, response }, index) => [
      `${index > 0 || !host.isEmpty ? ',' : ''}${JSON.stringify(name)}:`,
      ...response,
    ]);
    part.response = [host.halves[0], ...added, host.halves[1]];
    return;
  }
}

// Of an endpoint that runs one tool: the tool's bare output, or an envelope around it.

/** `error`: set whenever the tool did not succeed. */
export interface SingleOptions extends AnswerOptions, Recorded {
  tool: EndpointTool;
}

export function assembleSingle(result: ResultBody, options: SingleOptions): Answer {
  const ran = result.tools.find(({ name }) => name === options.tool);
  const success = ran?.success ?? false;
  const failed = success ? {} : { error: options.error ?? 'failed', ...codeMember(ran) };
  const verdict = verdictOf(result, options.policy);
  const judged = verdict ? { policy: verdict } : {};
  const pieces = options.withoutOutputs
    ? [JSON.stringify({ success, ...failed, metadata: timedMetadata(result, ran, options), ...judged })]
    : piecesOf(result, ran, { success, ...failed }, judged, options);
  return { contentType: JSON_TYPE, body: joined(pieces, options.outputs) };
}

function piecesOf(
  result: ResultBody,
  ran: ToolResult | undefined,
  head: object,
  judged: object,
  options: SingleOptions,
): Piece[] {
  // Text is what a tool printed that failed.
  const json = ran?.format === 'json' ? ran.output : null;
  if (options.injectOutput) return [json === null ? JSON.stringify(head) : wholeOf(json)];
  const output: Piece[] = json === null ? ['null'] : options.injectJson ? [wholeOf(json)] : quoted(json);
  const members = Object.keys(TOOL_TABLE[options.tool]?.endpoint?.members ?? {});
  return [
    `${JSON.stringify(head).slice(0, -1)},"output":`,
    ...output,
    ',',
    ...members.flatMap((name): Piece[] => [`"${name}":`, memberOf(json, name, options.outputs), ',']),
    JSON.stringify({ metadata: timedMetadata(result, ran, options), ...judged }).slice(1),
  ];
}

const timedMetadata = (result: ResultBody, ran: ToolResult | undefined, options: SingleOptions) => ({
  ...metadataOf(result, options),
  duration: Math.round(ran?.durationMs ?? 0),
  usage: Math.round(ran?.usageMs ?? 0),
});

/** A text of the report, as it stands in it. */
function memberOf(report: Output | null, name: string, outputs: Buffer | null): Piece {
  if (report === null) return 'null';
  const shape = report.json ?? (outputs && shapeOf(outputs.subarray(report.from, report.to)));
  const member = shape?.members[name];
  return member?.isString ? partOf(report, member) : 'null';
}

// Of a comparison: its runs and their differences. It is small, however long the tools' outputs are.

const NOTHING = compareRuns([]);

/** `run`: its name among the values of a field. */
export const runOf = (
  { name, version, side, build, success, durationMs, usageMs, error, ...why }: ToolResult,
  run: string = side ?? version,
) => ({
  run,
  tool: name,
  version,
  build: build ?? null,
  success,
  duration: Math.round(durationMs),
  usage: Math.round(usageMs),
  ...(success ? {} : { error: error ?? 'failed', ...codeMember(why) }),
});

/** A runner reads hostile media, so its comparison may contain anything. */
export function comparisonOf({ comparison }: Pick<ResultBody, 'comparison'>): Comparison {
  try {
    const { fields, summary } = JSON.parse(comparison?.output ?? 'null') as Comparison;
    return Array.isArray(fields) && typeof summary === 'object' && summary !== null ? { fields, summary } : NOTHING;
  } catch {
    return NOTHING;
  }
}

/** Whether there was anything to compare: two successful runs of one tool. */
const isCompared = ({ tools }: Pick<ResultBody, 'tools'>): boolean => {
  const done = tools.filter(({ success }) => success).map(({ name }) => name);
  return new Set(done).size < done.length;
};

const FEW = 'fewer than two runs of one tool succeeded';

/** With the code of the first run that failed. Of two sources: of the one of which nothing could be compared. */
function tooFew({ tools }: Pick<ResultBody, 'tools'>): { error: string; code?: string } {
  const failed = SIDES.flatMap((side) => {
    const runs = tools.filter((tool) => tool.side === side);
    return runs.length === 0 || runs.some(({ success }) => success) ? [] : runs.slice(0, 1);
  });
  if (failed.length > 0)
    return {
      error: failed.map((tool) => `${sideText(tool)}${tool.error ?? 'failed'}`).join('; '),
      ...codeMember(failed[0]),
    };
  const isOfTwo = tools.some(({ side }) => side !== undefined);
  return {
    error: isOfTwo ? 'no tool succeeded on both sources' : FEW,
    ...codeMember(tools.find(({ success }) => !success)),
  };
}

/** The runner's version does not support comparisons: only possible briefly during an upgrade or rollback. */
const NOT_MADE = 'the runner did not compare the runs';

function assembleComparison(result: ResultBody, recorded: Recorded): Answer {
  const compared = isCompared(result);
  const success = compared && result.comparison !== undefined;
  const why = compared ? { error: NOT_MADE } : tooFew(result);
  const body = {
    success,
    ...(success ? {} : { ...why, error: recorded.error ?? why.error }),
    metadata: metadataOf(result, recorded),
    runs: result.tools.map((tool) => runOf(tool)),
    ...comparisonOf(result),
  };
  return { contentType: JSON_TYPE, body: JSON.stringify(body) };
}
