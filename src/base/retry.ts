/** Back-off after failures, deadlines, and what is done again and again. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Pauses {
  /** Milliseconds after the first failure; doubled after each further one, up to `longest`. */
  first: number;
  longest: number;
  /** Random share of each pause, so that clients that failed together do not return together. */
  jitter?: number;
}

/** The pause after this number of consecutive failures, counted from 1. */
export function pauseAfter(
  failures: number,
  { first, longest, jitter = 0.5 }: Pauses,
  random: () => number = Math.random,
): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, 30)) * (1 - jitter * random());
}

export interface Backoff {
  /** The next pause; each call counts as one more failure. */
  next(): number;
  reset(): void;
}

/** For loops that continue after a success. */
export function backoff(pauses: Pauses, random: () => number = Math.random): Backoff {
  let failures = 0;
  return {
    next: () => pauseAfter(++failures, pauses, random),
    reset() {
      failures = 0;
    },
  };
}

/** Ends early, without an error, when the signal aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => {});

export interface RetryOptions extends Pauses {
  /** No attempt starts after this time, by `performance.now()`. */
  until?: number;
  /** Maximum number of attempts. */
  attempts?: number;
  /** Stops retrying; the first attempt is made in any case. */
  signal?: AbortSignal;
  /** Whether another attempt can help. */
  when?: (error: unknown) => boolean;
  /** The least pause that the server asked for. */
  askedMs?: (error: unknown) => number | undefined;
  onRetry?: (error: unknown) => void;
}

/** Repeats `work` until it succeeds. Throws its last error if there is no further attempt. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { until = Infinity, attempts = Infinity, signal, when = () => true, askedMs, onRetry } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const ms = Math.max(pauseAfter(attempt, options), askedMs?.(error) ?? 0);
      if (!when(error) || attempt >= attempts || signal?.aborted || performance.now() + ms > until) throw error;
      onRetry?.(error);
      await pause(ms, signal);
      if (signal?.aborted) throw error;
    }
  }
}

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  readonly code = 'deadline';
}

/** Rejects after `ms` milliseconds; a later outcome of the promise is ignored. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  late: () => Error = () => new DeadlineError(`no answer within ${ms} ms`),
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * One run at a time: while a server is unreachable each run waits, and they would pile up. `atOnce`: the first run
 * begins now.
 */
export function every(
  ms: number,
  work: () => Promise<unknown>,
  failed: (error: unknown) => void,
  { atOnce = false } = {},
): { stop(): void } {
  let under = false;
  const once = async (): Promise<void> => {
    if (under) return;
    under = true;
    try {
      await work();
    } catch (error) {
      failed(error);
    } finally {
      under = false;
    }
  };
  if (atOnce) void once();
  const timer = setInterval(() => void once(), ms);
  return { stop: () => clearInterval(timer) };
}
