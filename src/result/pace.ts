/**
 * Limits the share of a core that one account may use for reading large results, per replica. A streamed result is
 * inflated twice and scanned once: without a limit, two tokens within their rate limits use both cores of a small node,
 * and all probes wait.
 */
import { pause } from '../retry.ts';

/** Share of a core, over time. */
const SHARE = 0.2;
/** Burst of an account after a period without reads: a result of 50 MB is read at full speed. */
const BURST_MS = 3_000;
/** Shorter pauses cost more than they save. */
const LEAST_PAUSE_MS = 10;
/** Number of accounts from which those with a full burst are forgotten. */
const MOST = 1_000;

/** Reports how long a core was busy. Undefined: continue at once. */
export type Pace = (busyMs: number) => Promise<void> | undefined;

export interface PaceOptions {
  share?: number;
  burstMs?: number;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

/** The pace of an account, shared by all of its readers. */
export function makePaces({
  share = SHARE,
  burstMs = BURST_MS,
  now = () => performance.now(),
  wait = pause,
}: PaceOptions = {}): (account: number) => Pace {
  /** When an account has its full burst: in the future if it is used up. */
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
