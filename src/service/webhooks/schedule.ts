/** When a webhook is retried, and when it fails permanently. */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first attempt and after each retry. */
export const RETRIES_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
/** Never earlier than scheduled, and up to a fifth later, so that simultaneous failures spread out. */
const JITTER = 0.2;
/** A receiver may request a longer pause, up to this. */
const LONGEST_PAUSE_MS = 24 * HOUR;

export interface AttemptResult {
  /** Null: no response. */
  status: number | null;
  retryAfter?: string | undefined;
}

export type Verdict = { state: 'delivered' | 'failed' } | { state: 'pending'; afterMs: number };

/** `step`: retries already used; `now`: wall-clock time, for a date in Retry-After. */
export function verdictOf(
  { status, retryAfter }: AttemptResult,
  step: number,
  now: number,
  random: () => number = Math.random,
): Verdict {
  if (status !== null && status >= 200 && status <= 299) return { state: 'delivered' };
  if (status === 410) return { state: 'failed' };
  const pause = RETRIES_MS[step];
  if (pause === undefined) return { state: 'failed' };
  const asked = retryAfterMs(retryAfter, now);
  return { state: 'pending', afterMs: Math.round(Math.max(pause * (1 + JITTER * random()), asked)) };
}

/** Seconds or a date; invalid values are ignored. */
export function retryAfterMs(header: string | undefined, now: number): number {
  const text = header?.trim() ?? '';
  const asked = /^\d{1,9}$/.test(text)
    ? Number(text) * SECOND
    : /^[A-Za-z]{3}, /.test(text)
      ? Date.parse(text) - now
      : 0;
  return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), LONGEST_PAUSE_MS) : 0;
}
