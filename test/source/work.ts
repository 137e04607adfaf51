import assert from 'node:assert/strict';
import { PolicyError } from '../../src/media/policy/error.ts';

const spent = (run: () => unknown): number => {
  const before = process.cpuUsage();
  try {
    run();
  } catch (error) {
    // Reaching a limit is a valid outcome, too.
    if ((error as Error).name !== 'SourceError' && !(error instanceof PolicyError)) throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** The fastest of five runs, in ms of CPU time of this process, so that other load does not matter. */
const least = (run: () => unknown): number => Math.min(...Array.from({ length: 5 }, () => spent(run)));

/**
 * For input of four times the size, linear work takes 4 times as long and quadratic work 16 times. Work below
 * `nothingMs` passes.
 */
const mostGrowth = 9;
const nothingMs = 20;
/** Some kernels count CPU time in steps of 4 ms: what is less says nothing. */
const stepMs = 5;
/**
 * A busy machine also makes CPU time longer, that of the large input most: its caches are shared, and more garbage is
 * collected. Once, 18 ms grew to 172. Linear work is measured again; quadratic work stays above in every round.
 */
const ROUNDS = 4;

/** Asserts that the work grows linearly with the size of its input, not quadratically. */
export function assertLinear(name: string, size: number, work: (size: number) => () => unknown): void {
  const [large, small] = [work(4 * size), work(size)];
  let [most, few] = [least(large), Infinity];
  for (let round = 0; round < ROUNDS && most >= nothingMs; round++) {
    if (round > 0) most = Math.min(most, least(large));
    few = Math.max(stepMs, Math.min(few, least(small)));
    if (most / few < mostGrowth) return;
  }
  assert.ok(
    most < nothingMs,
    `${name}: ${few.toFixed(1)} ms for ${size} characters, ${most.toFixed(1)} ms for ${4 * size}`,
  );
}

export const filled = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
