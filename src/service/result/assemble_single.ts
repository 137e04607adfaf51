/**
 * The response of an endpoint that runs one tool: the tool's bare output, or an envelope around it. As in assemble.ts,
 * output is preserved byte for byte.
 */
import type { ResultBody, ToolResult } from '../../platform/bus/result_body.ts';
import { JSON_TYPE, type Answer } from './assemble.ts';
import { TOOL_TABLE, type EndpointTool } from '../../media/tools/table.ts';
import { isJson } from './json.ts';
import { escaped, textOf, type Piece } from './pieces.ts';
import { readOf } from './read_of.ts';
import type { LongOutput, LongOutputs } from './unpack.ts';
import { verdictOf, type NamedPolicy } from './verdict.ts';

export interface SingleOptions {
  tool: EndpointTool;
  requestId: string;
  queueTimeMs: number;
  /** Recorded error of the request: set whenever the tool did not succeed. */
  error: string | null;
  /** The body is the tool's bare output. */
  injectOutput: boolean;
  /** For an envelope: `output` is an object, not a text that contains one. */
  injectJson: boolean;
  /** The policy named by the request: its verdict is included in the envelope. */
  policy?: NamedPolicy | undefined;
  /** Leaves the output, and what the envelope has of it, out. */
  withoutOutputs?: boolean;
  /** Outputs that are not part of the result itself. */
  long?: LongOutputs;
}

export function assembleSingle(result: ResultBody, options: SingleOptions): Answer {
  const ran = result.tools.find(({ name }) => name === options.tool);
  const success = ran?.success ?? false;
  const failed = success ? {} : { error: options.error ?? 'failed' };
  const verdict = verdictOf(result, options.policy);
  const judged = verdict ? { policy: verdict } : {};
  const pieces = options.withoutOutputs
    ? [JSON.stringify({ success, ...failed, metadata: metadataOf(result, ran, options), ...judged })]
    : piecesOf(result, ran, { success, ...failed }, judged, options);
  return {
    contentType: JSON_TYPE,
    body: pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : pieces,
  };
}

function piecesOf(
  result: ResultBody,
  ran: ToolResult | undefined,
  head: object,
  judged: object,
  options: SingleOptions,
): Piece[] {
  const text = jsonOf(ran, options.long);
  if (options.injectOutput) return [text === null ? JSON.stringify(head) : wholeOf(text)];
  const output: Piece[] = text === null ? ['null'] : options.injectJson ? [wholeOf(text)] : quoted(text);
  const members = Object.keys(TOOL_TABLE[options.tool]?.endpoint?.members ?? {});
  return [
    `${JSON.stringify(head).slice(0, -1)},"output":`,
    ...output,
    ',',
    ...members.flatMap((name): Piece[] => [`"${name}":`, memberOf(text, name), ',']),
    JSON.stringify({ metadata: metadataOf(result, ran, options), ...judged }).slice(1),
  ];
}

const metadataOf = (result: ResultBody, ran: ToolResult | undefined, { requestId, queueTimeMs }: SingleOptions) => ({
  request_id: requestId,
  queue_time: Math.round(queueTimeMs),
  ...readOf(result),
  duration: Math.round(ran?.durationMs ?? 0),
  usage: Math.round(ran?.usageMs ?? 0),
});

/** Null if there is no output, or it is not JSON. */
function jsonOf(ran: ToolResult | undefined, long: LongOutputs | undefined): string | LongOutput | null {
  const output = ran?.output ?? null;
  if (output === null) return null;
  const kept = long?.get(output);
  if (kept) return kept.text.json ? kept : null;
  return isJson(output) ? output : null;
}

const wholeOf = (text: string | LongOutput): Piece => (typeof text === 'string' ? text : textOf(text));
const quoted = (text: string | LongOutput): Piece[] =>
  typeof text === 'string' ? [JSON.stringify(text)] : ['"', escaped(text), '"'];

/** A text of the report. */
function memberOf(report: string | LongOutput | null, name: string): Piece {
  if (report === null) return 'null';
  if (typeof report !== 'string') {
    const member = report.text.json?.members.get(name);
    return member?.isString ? textOf(report, member) : 'null';
  }
  const { [name]: text } = (JSON.parse(report) ?? {}) as Record<string, unknown>;
  return typeof text === 'string' ? JSON.stringify(text) : 'null';
}
