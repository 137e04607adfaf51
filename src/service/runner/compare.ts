/** Several runs on one source: two at a time, within the memory of two; and what they say differently. */
import type { AssignedTool, Side } from '../../platform/bus/messages.ts';
import type { ComparisonResult } from '../../platform/bus/result_body.ts';
import { compareRuns, type ComparedRun } from '../../media/compare/compare.ts';
import { COMPARED_AT_ONCE } from '../../base/limits.ts';
import { REPORT_TOOLS } from '../../media/tools/probe_report.ts';
import { pieces, type RawToolResult } from './output.ts';

const MB = 1024 * 1024;

/** What one run may print, and how long it may take at most. */
export interface Share {
  outputBytes: number;
  remainingMs: number;
}

export interface Several {
  /** Of a tool that runs alone. */
  outputBytes: number;
  remainingMs: number;
  /** What runs on another source printed before. */
  kept?: number;
  run(tool: AssignedTool, share: Share): Promise<RawToolResult>;
}

/**
 * What earlier runs printed is kept: a later one gets what is left of two full outputs. One that would get less than
 * half of a full output waits until no other runs, because that one may print little.
 */
export async function runSeveral(
  tools: readonly AssignedTool[],
  { outputBytes, remainingMs, kept: before = 0, run }: Several,
): Promise<RawToolResult[]> {
  const begun = performance.now();
  const results = new Map<AssignedTool, RawToolResult>();
  const running = new Map<AssignedTool, { promised: number; ended: Promise<void> }>();
  let kept = before;
  const start = (tool: AssignedTool, share: Share): Promise<RawToolResult> => {
    if (share.outputBytes <= 0)
      return Promise.resolve(unstarted(tool, { failure: 'output-too-large', error: 'no room is left' }));
    if (share.remainingMs >= 1) return run(tool, share);
    const error = `${tool.name} ${tool.version} did not start: the other runs took all of the time`;
    return Promise.resolve(unstarted(tool, { failure: 'timeout', error }));
  };
  const left = (): number =>
    COMPARED_AT_ONCE * outputBytes - kept - [...running.values()].reduce((sum, { promised }) => sum + promised, 0);

  for (const tool of tools) {
    while (running.size >= COMPARED_AT_ONCE || (running.size > 0 && left() < outputBytes / 2))
      await Promise.race([...running.values()].map(({ ended }) => ended));
    const promised = Math.min(outputBytes, left());
    const share = { outputBytes: promised, remainingMs: remainingMs - (performance.now() - begun) };
    const ended = start(tool, share).then((result) => {
      kept += result.output?.length ?? 0;
      results.set(tool, promised < outputBytes ? explained(result, promised) : result);
      running.delete(tool);
    });
    // Whoever waits for all of them hears of a failure.
    ended.catch(() => {});
    running.set(tool, { promised, ended });
  }
  await Promise.all([...running.values()].map(({ ended }) => ended));
  return tools.map((tool) => results.get(tool)!);
}

const unstarted = ({ name, version }: AssignedTool, why: Pick<RawToolResult, 'failure' | 'error'>): RawToolResult => ({
  name,
  version,
  success: false,
  durationMs: 0,
  usageMs: 0,
  exitCode: null,
  signal: null,
  format: 'text',
  output: null,
  ...why,
});

function explained(result: RawToolResult, promised: number): RawToolResult {
  if (result.failure !== 'output-too-large') return result;
  const rest = `${Math.floor(promised / MB)} MB that the other runs left of the output limit`;
  return { ...result, error: `${result.name} ${result.version} printed more than the ${rest}` };
}

/** Addresses are put back before anything is cut. */
function told({ success, format, output }: RawToolResult, redact: (text: string) => string): ComparedRun['output'] {
  if (!success || format !== 'json' || output === null) return null;
  return { bytes: output.length, text: () => [...pieces(output, redact)].join('') };
}

export function comparisonOf(
  tools: readonly RawToolResult[],
  redact: (text: string, side?: Side) => string,
): ComparisonResult {
  const begun = performance.now();
  const runs = tools.flatMap((result) => {
    const tool = REPORT_TOOLS.find((name) => name === result.name);
    if (!tool) return [];
    const { version, side } = result;
    return [{ tool, version, label: side ?? version, output: told(result, (text) => redact(text, side)) }];
  });
  const output = JSON.stringify(compareRuns(runs));
  return { durationMs: performance.now() - begun, output };
}
