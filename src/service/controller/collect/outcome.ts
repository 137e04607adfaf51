/**
 * What a result means for the request: the response status, the state in the log, the reason on the ProbeJob. Contract
 * 2.4.
 */
import { runKey, runsFor, SIDES, sideText, withoutResult, type Run } from '../../../platform/bus/messages.ts';
import type { ResultBody, ToolResult } from '../../../platform/bus/result_body.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { CloseInput } from '../../../platform/store/records.ts';
import { TOOL_TABLE } from '../../../media/tools/table.ts';
import { TEXTS } from '../../result/texts.ts';

export interface Outcome extends Pick<CloseInput, 'state' | 'status' | 'reason'> {
  /** One line for `kubectl get`. */
  summary: string;
  /** Public; set whenever no tool succeeded. */
  error?: string;
}

/** The tool worked, and its objections to the source are in its output. */
const isVerdict = (tool: ToolResult): boolean =>
  TOOL_TABLE[tool.name]?.verdict !== undefined && tool.failure === 'failed' && tool.output !== null;

const MAX_SUMMARY = 1000;
const NO_RESULT = 'no tool returned a result';

/** The runs that a job was admitted with: of two sources, every tool on both. */
export const runsOf = ({ spec, status }: Pick<ProbeJob, 'spec' | 'status'>): Run[] =>
  runsFor(status?.tools ?? [], spec.other !== undefined);

/** `asked`: the job's runs. A run with neither a result nor a skip counts as failed. */
export function outcome(body: ResultBody, asked: readonly Run[]): Outcome {
  if (body.listing) return { status: 200, state: 'success', reason: 'Completed', summary: 'listed a bucket' };
  const ran = new Map(body.tools.map((tool) => [runKey(tool), tool]));
  const tools = asked
    .filter(({ name }) => !body.skipped?.includes(name))
    .map((run) => ran.get(runKey(run)) ?? missing(run));
  const summary = summarise(tools);
  const failed = tools.filter(({ success }) => !success);
  if (tools.length > 0 && failed.length === 0) return { status: 200, state: 'success', reason: 'Completed', summary };
  if (failed.length < tools.length) return { status: 200, state: 'with-errors', reason: 'Completed', summary };
  if (failed.length > 0 && failed.every(isVerdict))
    return { status: 200, state: 'with-errors', reason: 'Completed', summary, error: failed[0]?.error ?? 'failed' };
  return { ...failure(body, failed), state: 'error', summary };
}

function failure({ source }: ResultBody, failed: ToolResult[]): Pick<Outcome, 'status' | 'reason' | 'error'> {
  const first = firstError(failed);
  const all = (code: ToolResult['failure']) => failed.length > 0 && failed.every((tool) => tool.failure === code);
  // The source itself, or a redirect target: refused like an address that is rejected on submission.
  if (source?.failure === 'source-forbidden') return { status: 400, reason: 'SourceForbidden', error: source.message };
  if (source?.failure === 'source-too-large') return { status: 400, reason: 'SourceTooLarge', error: source.message };
  if (source?.failure === 'upload-lost') return { status: 500, reason: 'InternalError', error: source.message };
  if (all('origin-unreachable')) return { status: 404, reason: 'OriginUnreachable', error: first };
  if (all('unavailable')) return { status: 500, reason: 'ToolUnavailable', error: TEXTS.ToolUnavailable };
  return { status: 200, reason: 'ToolFailed', error: first };
}

/** Of two sources, each with its own. */
function firstError(failed: readonly ToolResult[]): string {
  const sides = SIDES.flatMap((side) => failed.find((tool) => tool.side === side) ?? []);
  if (sides.length === 0) return failed[0]?.error ?? NO_RESULT;
  return sides.map((tool) => `${sideText(tool)}${tool.error ?? 'failed'}`).join('; ');
}

const missing = (run: Run): ToolResult => ({
  ...withoutResult(run),
  failure: 'failed',
  error: `${run.name} ${run.version} returned no result`,
});

function summarise(tools: ToolResult[]): string {
  if (tools.length === 0) return NO_RESULT;
  const parts = tools.map((tool) => {
    const { success, durationMs, error } = tool;
    return `${runKey(tool)}: ${success ? `ok in ${Math.round(durationMs)} ms` : (error ?? 'failed')}`;
  });
  return parts.join('; ').replaceAll(/\s+/g, ' ').slice(0, MAX_SUMMARY);
}
