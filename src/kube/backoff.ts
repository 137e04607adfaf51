/** Waiting longer after each failure. */

export interface Backoff {
  /** Milliseconds to wait now; each call counts as one more failure. */
  next(): number;
  reset(): void;
}

/**
 * Doubles from `floorMs` to `ceilingMs`; up to half of each wait is random, so that many clients do not return as one.
 */
export function jitteredBackoff(floorMs: number, ceilingMs: number, random: () => number = Math.random): Backoff {
  let failures = 0;
  return {
    next() {
      const full = Math.min(ceilingMs, floorMs * 2 ** failures);
      failures = Math.min(failures + 1, 30);
      return full * (1 - random() / 2);
    },
    reset() {
      failures = 0;
    },
  };
}

/** Ends early, without an error, when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
