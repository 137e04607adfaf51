/**
 * How much of a core one account may have large results read with, in one replica. A result that is streamed is
 * inflated twice and scanned once: without a pace, two tokens within their limits of reads take both cores of a small
 * node, and everybody's probes wait.
 */
import { pause } from '../retry.ts';

/** Of a core, over time. */
const SHARE = 0.2;
/** What an account that read nothing lately has at once: a result of 50 MB is read at full speed. */
const BURST_MS = 3_000;
/** Shorter pauses cost more than they hold back. */
const LEAST_PAUSE_MS = 10;
/** Accounts that are remembered before those with a full burst are forgotten. */
const MOST = 1_000;

/** Says how long a core was busy. Undefined: go on at once. */
export type Pace = (busyMs: number) => Promise<void> | undefined;

export interface PaceOptions {
  share?: number;
  burstMs?: number;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

/** The pace of an account: the same for all of its readers. */
export function makePaces({
  share = SHARE,
  burstMs = BURST_MS,
  now = () => performance.now(),
  wait = pause,
}: PaceOptions = {}): (account: number) => Pace {
  /** Since when an account would have its full burst: in the future where it is used up. */
  const fullAt = new Map<number, number>();

  return (account) => (busyMs) => {
    const at = now();
    if (fullAt.size > MOST) for (const [one, since] of fullAt) if (since <= at) fullAt.delete(one);
    const next = Math.max(fullAt.get(account) ?? at, at) + busyMs / share;
    fullAt.set(account, next);
    const debtMs = next - at - burstMs / share;
    return debtMs < LEAST_PAUSE_MS ? undefined : wait(debtMs);
  };
}
