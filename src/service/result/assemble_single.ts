/**
 * The response of an endpoint that runs one tool: the tool's bare output, or an envelope around it. As in assemble.ts,
 * output is preserved byte for byte.
 */
import { codeMember } from '../../base/causes.ts';
import type { Output, ResultBody, ToolResult } from '../../platform/bus/result_body.ts';
import { JSON_TYPE, type Answer, type OutputOptions } from './assemble.ts';
import { TOOL_TABLE, type EndpointTool } from '../../media/tools/table.ts';
import { shapeOf } from './outputs.ts';
import { joined, partOf, quoted, wholeOf, type Piece } from './pieces.ts';
import { metadataOf } from './metadata.ts';
import { verdictOf } from './verdict.ts';

export interface SingleOptions extends OutputOptions {
  tool: EndpointTool;
  /** Recorded error of the request: set whenever the tool did not succeed. */
  error: string | null;
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
