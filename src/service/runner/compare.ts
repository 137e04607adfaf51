/** Runs of a comparison, two at a time, within the memory of two, on one source after the other; and what differs. */
import { SIDES, withoutResult, type AssignedTool, type Side } from '../../platform/bus/messages.ts';
import type { ComparisonResult } from '../../platform/bus/result_body.ts';
import { compareRuns, type ComparedRun } from '../../media/compare/compare.ts';
import { COMPARED_AT_ONCE } from '../../base/limits.ts';
import { REPORT_TOOLS } from '../../media/tools/probe_report.ts';
import { pieces, type RawToolResult } from './output.ts';
import type { JobSource } from './source.ts';

const MB = 1024 * 1024;

/** What one run may print, and how long it may take at most. */
interface Share {
  outputBytes: number;
  remainingMs: number;
}

/** What the tools have on one source: time, and what earlier ones printed. */
export interface Allowance {
  remainingMs: number;
  kept: number;
}

interface Several extends Allowance {
  /** Of a tool that runs alone. */
  outputBytes: number;
  run(tool: AssignedTool, share: Share): Promise<RawToolResult>;
}

/**
 * What earlier runs printed is kept: a later one gets what is left of two full outputs. One that would get less than
 * half of a full output waits until no other runs, because that one may print little.
 */
export async function runSeveral(
  tools: readonly AssignedTool[],
  { outputBytes, remainingMs, kept: before, run }: Several,
): Promise<RawToolResult[]> {
  const begun = performance.now();
  const results = new Map<AssignedTool, RawToolResult>();
  const running = new Map<AssignedTool, { promised: number; ended: Promise<void> }>();
  let kept = before;
  const start = async (tool: AssignedTool, share: Share): Promise<RawToolResult> => {
    if (share.outputBytes <= 0)
      return { ...withoutResult(tool), failure: 'output-too-large', error: 'no room is left' };
    if (share.remainingMs >= 1) return run(tool, share);
    const error = `${tool.name} ${tool.version} did not start: the other runs took all of the time`;
    return { ...withoutResult(tool), failure: 'timeout', error };
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

function explained(result: RawToolResult, promised: number): RawToolResult {
  if (result.failure !== 'output-too-large') return result;
  const rest = `${Math.floor(promised / MB)} MB that the other runs left of the output limit`;
  return { ...result, error: `${result.name} ${result.version} printed more than the ${rest}` };
}

interface InTurn {
  remainingMs: number;
  signal: AbortSignal;
  /** Ends every process of the tools; false if one is left. */
  killAll(): Promise<boolean>;
  /** Runs all tools on the current source. */
  run(allowance: Allowance): Promise<RawToolResult[]>;
}

/** The first source has half of the time, the second what is left: a slow first one never costs the second its runs. */
export async function runInTurn(
  source: Pick<JobSource, 'hasNext' | 'next' | 'close' | 'prepare'>,
  { remainingMs, signal, killAll, run }: InTurn,
): Promise<RawToolResult[]> {
  const begun = performance.now();
  const [a, b] = SIDES;
  const of = (results: readonly RawToolResult[], side: Side) => results.map((result) => ({ ...result, side }));
  const first = of(await run({ remainingMs: remainingMs / 2, kept: 0 }), a);
  // A dropped job publishes nothing, and another one may begin at any moment.
  if (signal.aborted || !source.hasNext) return first;
  source.close();
  const clean = await killAll();
  if (signal.aborted) return first;
  if (!clean) throw new Error('the tools container could not be cleaned');
  source.next();
  void source.prepare();
  const left = Math.max(1, remainingMs - (performance.now() - begun));
  const kept = first.reduce((sum, { output }) => sum + (output?.length ?? 0), 0);
  return [...first, ...of(await run({ remainingMs: left, kept }), b)];
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
