/**
 * The answer to a caller, from what the runner sent. What a tool printed stands in it byte for byte: texts are put together,
 * never parsed and printed again. The runner's word that a text is JSON is checked, because a runner reads hostile media.
 */
import type { ResultBody, ToolResult } from '../bus/messages.ts';
import type { ToolName } from '../kube/resources.ts';
import { isJson } from './json.ts';
import { outcome } from './outcome.ts';

export type Shown = 'ffprobe' | 'mediainfo' | 'probe_report' | 'c2pa';
const ORDER: readonly Shown[] = ['ffprobe', 'mediainfo', 'probe_report', 'c2pa'];

export interface AnswerOptions {
  requestId: string;
  queueTimeMs: number;
  /** The tools that the job ran. */
  asked: readonly { name: ToolName }[];
  /** What the answer holds; left out: everything there is. Tools that ran for the report alone are not in it. */
  shown?: readonly Shown[];
  /** With one tool shown: the body is its bare output. */
  injectOutput?: boolean;
  injectJson?: boolean;
  /** The members `response` are left out. */
  withoutOutputs?: boolean;
}

export interface Answer { status: number; contentType: string; body: string }

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Also HTML and XML go out as plain text: they hold what stands in the media, and must not run in a browser. */
const TEXT_TYPE = 'text/plain; charset=utf-8';

export function assemble(result: ResultBody, options: AnswerOptions): Answer {
  const shown = options.shown ?? ORDER;
  const all = new Map<Shown, Told>();
  for (const tool of result.tools) if (tool.name !== 'msv') all.set(tool.name, tool);
  if (result.report) all.set('probe_report', costing(result.report, result.tools, shown));
  const parts = ORDER.filter((name) => shown.includes(name)).flatMap((name): Part[] => {
    const tool = all.get(name);
    return tool ? [{ name, tool, response: responseOf(tool) }] : [];
  });

  const { status, error } = outcome(result, options.asked);
  if (status !== 200) return { status, contentType: JSON_TYPE, body: JSON.stringify({ error }) };

  const only = options.shown?.length === 1 ? parts[0] : undefined;
  if (only && options.injectOutput) return bare(only);
  if (options.injectJson && !only) inject(parts);
  return { status, contentType: JSON_TYPE, body: envelope(parts, result, options) };
}

type Told = Omit<ToolResult, 'name'>;

/** Tools that the answer does not show ran for the report alone: their time is what it took. */
function costing(report: Told, tools: readonly ToolResult[], shown: readonly Shown[]): Told {
  const hidden = tools.filter(({ name }) => (name === 'ffprobe' || name === 'mediainfo') && !shown.includes(name));
  if (hidden.length === 0) return report;
  return { ...report, usageMs: hidden.reduce((sum, { usageMs }) => sum + usageMs, report.usageMs), durationMs: report.durationMs + Math.max(...hidden.map(({ durationMs }) => durationMs)) };
}

interface Part { name: Shown; tool: Told; /** As JSON text. */ response: string }

/** A JSON output as it is; anything else as a JSON string; nothing as null. */
function responseOf({ format, output }: Told): string {
  if (output === null) return 'null';
  return format === 'json' && isJson(output) ? output : JSON.stringify(output);
}

function bare({ tool, response }: Part): Answer {
  if (tool.output === null) return { status: 200, contentType: JSON_TYPE, body: JSON.stringify({ success: false, error: tool.error }) };
  const json = response === tool.output;
  return { status: 200, contentType: json ? JSON_TYPE : TEXT_TYPE, body: tool.output };
}

function envelope(parts: Part[], { ioUsage }: ResultBody, { requestId, queueTimeMs, withoutOutputs = false }: AnswerOptions): string {
  const success = parts.some(({ tool }) => tool.success);
  const head = {
    success,
    ...(success ? {} : { error: parts[0]?.tool.error ?? 'no tool gave a result' }),
    metadata: { request_id: requestId, queue_time: Math.round(queueTimeMs), io_usage: ioUsage },
  };
  return [
    JSON.stringify(head).slice(0, -1),
    ...parts.map(({ name, tool, response }) => `,${JSON.stringify(name)}:${section(tool).slice(0, -1)}${withoutOutputs ? '' : `,"response":${response}`}}`),
    '}',
  ].join('');
}

const section = ({ success, durationMs, usageMs, error }: Told): string =>
  JSON.stringify({ success, duration: Math.round(durationMs), usage: Math.round(usageMs), ...(success ? {} : { error: error ?? 'failed' }) });

const OBJECT = /^\s*\{/;

/** One document: the first object of ffprobe and mediainfo also carries the responses of the others that succeeded. Its own members win. */
function inject(parts: Part[]): void {
  const host = parts.find(({ name, response }) => (name === 'ffprobe' || name === 'mediainfo') && OBJECT.test(response));
  if (!host) return;
  const own = Object.keys(JSON.parse(host.response) as object);
  const guests = parts.filter(({ name, tool }) => name !== host.name && name !== 'ffprobe' && tool.success && !own.includes(name));
  if (guests.length === 0) return;
  const end = host.response.lastIndexOf('}');
  const added = guests.map(({ name, response }) => `${JSON.stringify(name)}:${response}`).join(',');
  host.response = `${host.response.slice(0, end)}${own.length > 0 ? ',' : ''}${added}${host.response.slice(end)}`;
}
