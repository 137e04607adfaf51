/** A token bucket: a burst, then a rate per second. It has no clock: callers pass monotonic milliseconds. */

export interface Pace {
  perSecond: number;
  burst: number;
}

export interface Bucket {
  tokens: number;
  at: number;
}

export const fullBucket = ({ burst }: Pace, now: number): Bucket => ({ tokens: burst, at: now });

/** Returns whether it is full afterwards. */
export function refill(bucket: Bucket, { perSecond, burst }: Pace, now: number): boolean {
  bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1000);
  bucket.at = now;
  return bucket.tokens === burst;
}

/** Takes from a bucket that was just refilled. */
export function take(bucket: Bucket): boolean {
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}
