const started = performance.now();

/** Prints `12.3s  text`, with the time since the start of the command. */
export function say(text: string): void {
  console.log(`${seconds(performance.now() - started).padStart(7)}  ${text}`);
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}

/** Prints every 15 s that a long step is still running. */
export async function timed<T>(text: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const still = setInterval(() => say(`${text}: still at it, ${seconds(performance.now() - from)}`), 15_000);
  try {
    const result = await work();
    say(`${text}: ${seconds(performance.now() - from)}`);
    return result;
  } finally {
    clearInterval(still);
  }
}
