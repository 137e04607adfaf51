/**
 * The first process of a container ignores signals without a handler: one that arrives during start ends the process
 * here.
 */
export function signals(): { serving(): Promise<string> } {
  let stop = (_signal: string): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop(signal));
  return {
    serving: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
  };
}
