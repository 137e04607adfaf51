import assert from 'node:assert/strict';

const spent = (run: () => unknown): number => {
  const before = process.cpuUsage();
  try {
    run();
  } catch (error) {
    // A bound of its own is an answer, too.
    if ((error as Error).name !== 'SourceError') throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** Least of three, in ms of this process: what a loaded machine does meanwhile is not in it. */
const least = (run: () => unknown): number => Math.min(spent(run), spent(run), spent(run));

/**
 * For inputs of four times the size: linear work takes 4 times as long, squared work 16 times. What takes next to
 * nothing has passed.
 */
const mostGrowth = 9;
const nothingMs = 20;

/** Says that the work grows with the size of its input, and not with its square. */
export function assertLinear(name: string, size: number, work: (size: number) => () => unknown): void {
  const large = work(4 * size);
  const most = least(large);
  if (most < nothingMs) return;
  const few = least(work(size));
  assert.ok(
    most / few < mostGrowth,
    `${name}: ${few.toFixed(1)} ms for ${size} characters, ${most.toFixed(1)} ms for ${4 * size}`,
  );
}

export const filled = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
