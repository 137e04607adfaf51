/**
 * How fast one account may have large results read in one replica. A result that is streamed is inflated and scanned
 * twice, at 200 to 400 MB/s of one core: without a pace, two tokens within their limits of reads take both cores of a
 * small node, and everybody's probes wait (p99 2.8 times that beside ordinary requests).
 */
import { setTimeout as delay } from 'node:timers/promises';

/** Inflated bytes per second of an account: a tenth of a core. */
const BYTES_PER_SECOND = 32_000_000;
/** What an account that read nothing lately has at once: a result of 50 MB is read at full speed. */
const BURST = 128_000_000;
/** Shorter pauses cost more than they hold back. */
const LEAST_PAUSE_MS = 10;
/** Accounts that are remembered before those with a full burst are forgotten. */
const MOST = 1_000;

/** Counts inflated bytes. Undefined: go on at once. */
export type Pace = (bytes: number) => Promise<void> | undefined;

export interface PaceOptions {
  bytesPerSecond?: number;
  burst?: number;
  now?: () => number;
  pause?: (ms: number) => Promise<void>;
}

/** The pace of an account: the same for all of its readers. */
export function makePaces({
  bytesPerSecond = BYTES_PER_SECOND,
  burst = BURST,
  now = () => performance.now(),
  pause = (ms) => delay(ms),
}: PaceOptions = {}): (account: number) => Pace {
  /** Since when an account would have its full burst: in the future where it is used up. */
  const fullAt = new Map<number, number>();
  const burstMs = (burst / bytesPerSecond) * 1000;

  return (account) => (bytes) => {
    const at = now();
    if (fullAt.size > MOST) for (const [one, since] of fullAt) if (since <= at) fullAt.delete(one);
    const next = Math.max(fullAt.get(account) ?? at, at) + (bytes / bytesPerSecond) * 1000;
    fullAt.set(account, next);
    const debtMs = next - at - burstMs;
    return debtMs < LEAST_PAUSE_MS ? undefined : pause(debtMs);
  };
}
