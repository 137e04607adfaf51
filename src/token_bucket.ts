/** A token bucket: so many at once, then so many a second. No clock of its own: times are monotonic milliseconds. */

export interface Pace {
  perSecond: number;
  burst: number;
}

export interface Bucket {
  tokens: number;
  at: number;
}

export const fullBucket = ({ burst }: Pace, now: number): Bucket => ({ tokens: burst, at: now });

/** Whether it is full afterwards. */
export function refill(bucket: Bucket, { perSecond, burst }: Pace, now: number): boolean {
  bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1000);
  bucket.at = now;
  return bucket.tokens === burst;
}

/** From a bucket that was refilled just now. */
export function take(bucket: Bucket): boolean {
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}
