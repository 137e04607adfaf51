import { PATIENCE } from '../patience.ts';

/** Waits for a condition until a deadline. The error names the condition. */
export async function eventually<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const longestMs = PATIENCE * deadlineMs;
  const until = performance.now() + longestMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > until) throw new Error(`not within ${longestMs} ms: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
