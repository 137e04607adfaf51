/**
 * How many messages each runner may send: a token bucket per pod. No clock of its own: times are monotonic
 * milliseconds.
 */

export interface Rate {
  perSecond: number;
  burst: number;
  /** A pod that had so many refused in a row is no runner of ours any more. */
  mostRefused: number;
}

/** `flood` is said once, when the last one that may be refused is; afterwards it is `refused` again. */
export type RateVerdict = 'taken' | 'refused' | 'flood';

interface Bucket {
  tokens: number;
  at: number;
  refused: number;
}

/** Pods that are gone leave a full bucket behind: it says nothing, and is dropped with the next of these. */
const SWEEP_FROM = 1_024;

export interface Rates {
  take(uid: string, now: number): RateVerdict;
  readonly size: number;
}

export function makeRates({ perSecond, burst, mostRefused }: Rate): Rates {
  const buckets = new Map<string, Bucket>();
  let sweepAt = SWEEP_FROM;

  const refill = (bucket: Bucket, now: number): void => {
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1000);
    bucket.at = now;
    if (bucket.tokens === burst) bucket.refused = 0;
  };

  const sweep = (now: number): void => {
    for (const [uid, bucket] of buckets) {
      refill(bucket, now);
      if (bucket.tokens === burst) buckets.delete(uid);
    }
    sweepAt = Math.max(SWEEP_FROM, buckets.size * 2);
  };

  return {
    get size() {
      return buckets.size;
    },
    take(uid, now) {
      let bucket = buckets.get(uid);
      if (!bucket) {
        if (buckets.size >= sweepAt) sweep(now);
        buckets.set(uid, (bucket = { tokens: burst, at: now, refused: 0 }));
      }
      refill(bucket, now);
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return 'taken';
      }
      bucket.refused += 1;
      return bucket.refused === mostRefused ? 'flood' : 'refused';
    },
  };
}

/**
 * One per phase of a job and one every two seconds: 25 a second at the shortest jobs. The burst is for a leader that
 * was held up.
 */
export const BEATS: Rate = { perSecond: 50, burst: 200, mostRefused: 500 };
/** One per job, and again after 7 s. */
export const RESULTS: Rate = { perSecond: 10, burst: 40, mostRefused: 200 };
