/** Rate limits of messages: a token bucket per runner pod. */
import { fullBucket, refill, take, type Bucket, type Pace } from '../../base/token_bucket.ts';

export interface Rate extends Pace {
  /** Consecutive refusals after which a pod is treated as compromised. */
  mostRefused: number;
}

/** `flood`: the number of refusals has reached its maximum. Returned again while it goes on, but not at once. */
export type RateVerdict = 'taken' | 'refused' | 'flood';

interface PodBucket extends Bucket {
  refused: number;
  /** When a flood that goes on is reported again. */
  againAt: number;
}

const QUIET = { refused: 0, againAt: Infinity };
/** The end of its pod may have failed. */
const AGAIN_MS = 10_000;

/** Deleted pods leave a full bucket, which holds no information and is dropped by a sweep from this size on. */
const SWEEP_FROM = 1_024;

export function makeRates(rate: Rate) {
  const buckets = new Map<string, PodBucket>();
  let sweepAt = SWEEP_FROM;

  const sweep = (now: number): void => {
    for (const [uid, bucket] of buckets) if (refill(bucket, rate, now)) buckets.delete(uid);
    sweepAt = Math.max(SWEEP_FROM, buckets.size * 2);
  };

  return {
    get size(): number {
      return buckets.size;
    },
    take(uid: string, now: number): RateVerdict {
      let bucket = buckets.get(uid);
      if (!bucket) {
        if (buckets.size >= sweepAt) sweep(now);
        buckets.set(uid, (bucket = { ...fullBucket(rate, now), ...QUIET }));
      }
      if (refill(bucket, rate, now)) Object.assign(bucket, QUIET);
      if (take(bucket)) return 'taken';
      bucket.refused += 1;
      if (bucket.refused !== rate.mostRefused && now < bucket.againAt) return 'refused';
      bucket.againAt = now + AGAIN_MS;
      return 'flood';
    },
  };
}

/** Whether a message of this pod is taken now. `onFlood` is called while it sends too many, every ten seconds. */
export function rateLimit(rate: Rate, onFlood: (uid: string) => void): (uid: string) => boolean {
  const rates = makeRates(rate);
  return (uid) => {
    const verdict = rates.take(uid, performance.now());
    if (verdict === 'flood') onFlood(uid);
    return verdict === 'taken';
  };
}

/**
 * One per phase of a job plus one every two seconds: 25 a second with the shortest jobs. The burst covers a leader that
 * was delayed.
 */
export const BEATS: Rate = { perSecond: 50, burst: 200, mostRefused: 500 };
/** One per job, and again after 7 s: up to 30 a second from a chunk of small files. */
export const RESULTS: Rate = { perSecond: 50, burst: 100, mostRefused: 200 };
/** A runner pauses for 0.6 s at least before it connects again. The burst covers a server that it cannot stay with. */
export const CONNECTIONS: Rate = { perSecond: 2, burst: 60, mostRefused: 120 };
