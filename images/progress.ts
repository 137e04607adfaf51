const started = performance.now();

/** Prints `  12.3s  text`, with the time since the start of the command. */
export function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)}s  ${text}`);
}

/** Prints the duration of a step, and every 20 s that it is still running. */
export async function timed<T>(text: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const elapsed = () => `${((performance.now() - from) / 1000).toFixed(1)} s`;
  const still = setInterval(() => say(`${text}: still at it, ${elapsed()}`), 20_000);
  try {
    const result = await work();
    say(`${text}: ${elapsed()}`);
    return result;
  } finally {
    clearInterval(still);
  }
}
