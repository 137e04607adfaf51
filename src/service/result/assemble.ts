/**
 * Assembles the response from the runner's result. Tool output is preserved byte for byte: it is copied, never parsed
 * and serialized again. That an output is JSON was checked when it was collected, because a runner reads hostile media.
 */
import { codeMember } from '../../base/causes.ts';
import type { ResultBody, TimelineResult, ToolResult } from '../../platform/bus/result_body.ts';
import { probeReport } from '../../media/tools/probe_report.ts';
import {
  FILE_ROWS,
  FILE_TOOLS,
  sectionOf,
  type FileTool,
  type ResultName,
  type SectionName,
} from '../../media/tools/table.ts';
import { shapeOf } from './outputs.ts';
import { joined, partOf, quoted, wholeOf, type Piece } from './pieces.ts';
import { metadataOf } from './metadata.ts';
import { verdictOf, type NamedPolicy } from './verdict.ts';

/** Of a response with outputs, whether of one tool or of several. */
export interface OutputOptions {
  requestId: string;
  queueTimeMs: number;
  /** With one tool shown: the body is its bare output. */
  injectOutput?: boolean;
  /** JSON is an object in the response, and not a text that contains one. */
  injectJson?: boolean;
  /** The policy named by the request: its verdict is included in the envelope. */
  policy?: NamedPolicy | undefined;
  /** Leaves the outputs, and what the envelope has of them, out. */
  withoutOutputs?: boolean;
  /** The outputs, if they are in memory. */
  outputs: Buffer | null;
}

export interface AnswerOptions extends OutputOptions {
  /** Sections of the response; absent: all. Tools that ran only for the report are not among them. */
  shown?: readonly FileTool[];
  /** Media type of a bare output, if it is not JSON. */
  bareType?: string;
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
  /* JSON text. */ response: Piece[];
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
  { policy, withoutOutputs = false, ...recorded }: AnswerOptions,
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
      '}',
    ]),
    ...(result.timeline ? [`,"timeline":${section(result.timeline)}`] : []),
    ...(verdict ? [`,"policy":${JSON.stringify(verdict)}`] : []),
    '}',
  ];
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
