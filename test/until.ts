import { PATIENCE } from './patience.ts';
import { noted } from './waits.ts';

/** Between two looks: a tenth of what has been waited, because a look may ask a server several things. */
const [SHORTEST_MS, LONGEST_MS] = [10, 100];

/** Waits for a condition with a deadline. Tests never sleep for a time that is merely expected to be enough. */
export const until = <T>(
  what: string,
  condition: () => T | Promise<T>,
  deadlineMs = 10_000,
): Promise<Exclude<NonNullable<T>, false>> => noted(what, () => poll(what, condition, deadlineMs));

async function poll<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadlineMs: number,
): Promise<Exclude<NonNullable<T>, false>> {
  const longestMs = PATIENCE * deadlineMs;
  const began = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<NonNullable<T>, false>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - began;
    if (waitedMs > longestMs) throw new Error(`not within ${longestMs} ms: ${what}`, { cause: last });
    const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waitedMs / 10));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
