/** Waits for a condition with a deadline. Tests never sleep for a time that is merely expected to be enough. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadlineMs = 10_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
