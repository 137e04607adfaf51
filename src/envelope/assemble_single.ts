/**
 * The answer of an endpoint that runs one tool, from what the runner sent: the tool's bare output, or the envelope around it. What the
 * tool printed stands in it byte for byte, as in assemble.ts.
 */
import type { ResultBody, ToolResult } from '../bus/messages.ts';
import { JSON_TYPE, type Answer } from './assemble.ts';
import { isJson } from './json.ts';
import { outcome } from './outcome.ts';

export type SingleTool = 'msv' | 'c2pa';

export interface SingleOptions {
  tool: SingleTool;
  requestId: string;
  queueTimeMs: number;
  /** The body is the tool's bare output. */
  injectOutput: boolean;
  /** Where enveloped: `output` is an object, not a text that holds one. */
  injectJson: boolean;
  /** The members `output` and `cli_output` are left out. */
  withoutOutputs?: boolean;
}

/** What the endpoints do where a caller does not say. */
export const SINGLE_DEFAULTS: Readonly<Record<SingleTool, Pick<SingleOptions, 'injectOutput' | 'injectJson'>>> = {
  msv: { injectOutput: true, injectJson: true },
  c2pa: { injectOutput: true, injectJson: false },
};

export function assembleSingle(result: ResultBody, options: SingleOptions): Answer & { body: string } {
  const { status, error } = outcome(result, [{ name: options.tool }]);
  if (status !== 200) return { status, contentType: JSON_TYPE, body: JSON.stringify({ error }) };
  const ran = result.tools.find(({ name }) => name === options.tool);
  const success = ran?.success ?? false;
  const text = ran && ran.output !== null && isJson(ran.output) ? ran.output : null;
  const failed = success ? {} : { error: error ?? 'failed' };
  const body = options.injectOutput ? (text ?? JSON.stringify({ success, ...failed })) : envelope(result, ran, text, { success, ...failed }, options);
  return { status, contentType: JSON_TYPE, body };
}

function envelope({ ioUsage }: ResultBody, ran: ToolResult | undefined, text: string | null, head: object, { tool, requestId, queueTimeMs, injectJson, withoutOutputs = false }: SingleOptions): string {
  const output = text === null ? 'null' : injectJson ? text : JSON.stringify(text);
  const metadata = {
    request_id: requestId, queue_time: Math.round(queueTimeMs), io_usage: ioUsage,
    duration: Math.round(ran?.durationMs ?? 0), usage: Math.round(ran?.usageMs ?? 0),
  };
  if (withoutOutputs) return JSON.stringify({ ...head, metadata });
  const rest = { ...(tool === 'msv' ? { cli_output: cliOutputOf(text) } : {}), metadata };
  return `${JSON.stringify(head).slice(0, -1)},"output":${output},${JSON.stringify(rest).slice(1)}`;
}

/** The validator puts the text for people into its report. */
function cliOutputOf(text: string | null): string | null {
  if (text === null) return null;
  const { cli_output: told } = (JSON.parse(text) ?? {}) as { cli_output?: unknown };
  return typeof told === 'string' ? told : null;
}
