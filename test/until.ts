import { PATIENCE } from './patience.ts';
import { noted } from './waits.ts';

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
  const deadline = performance.now() + longestMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value as Exclude<NonNullable<T>, false>;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${longestMs} ms: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
