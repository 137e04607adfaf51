/** Waits for a condition until a deadline. The error names the condition. */
export async function eventually<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 10_000,
): Promise<T> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > until) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
