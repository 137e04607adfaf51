/**
 * The duration of work on a machine under other load. Only runs count during which the main thread was not preempted.
 * CPU times are no alternative, because Linux counts them in steps of 4 ms.
 */
import { readFileSync } from 'node:fs';
import { summary, type Summary } from './statistics.ts';

const STATUS = `/proc/self/task/${process.pid}/status`;
const takenOff = (): string | undefined =>
  /^nonvoluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(STATUS, 'utf8'))?.[1];

/** Runs all works in turns, so that a change of the load affects all of them. */
export function undisturbed<K extends string>(
  works: Readonly<Record<K, () => unknown>>,
  runs: number,
): Record<K, Summary> {
  const all = Object.entries(works) as [K, () => unknown][];
  const taken = Object.fromEntries(all.map(([name]) => [name, []])) as unknown as Record<K, number[]>;
  for (let run = -runs / 4; run < runs; run++)
    for (const [name, work] of all) {
      const before = takenOff();
      const begun = performance.now();
      work();
      const ms = performance.now() - begun;
      if (run >= 0 && takenOff() === before) taken[name].push(ms);
    }
  return Object.fromEntries(all.map(([name]) => [name, summary(taken[name])])) as Record<K, Summary>;
}

export const inWords = ({ count, p50, p99 }: Summary): string =>
  `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${count} undisturbed runs)`;
