/**
 * Queue times are counted in buckets a quarter of an octave wide (queue_bucket() in the record), because counts can be
 * summed and a p95 cannot. The result is the middle of the bucket that contains the exact p95: at most 9.1 % off
 * (2^(1/8)), or half a millisecond if that is more, and never above the longest time.
 */
const BUCKETS = 67;
const COUNT = 2 ** 32;

/** Parses entries `bucket << 32 | count` separated by commas, in any order, with repeated buckets. */
export function readHistogram(text: string): Float64Array {
  const counts = new Float64Array(BUCKETS + 1);
  for (const part of text.split(',')) {
    if (part === '') continue;
    const code = Number(part);
    const bucket = Math.floor(code / COUNT);
    counts[bucket] = (counts[bucket] ?? 0) + (code % COUNT);
  }
  return counts;
}

/** Bucket 1 is 0 ms; bucket i from 2 on begins at 2^((i-2)/4); the last is open-ended. */
function middle(bucket: number, longest: number): number {
  if (bucket <= 1) return 0;
  if (bucket >= BUCKETS) return longest;
  return Math.min(longest, Math.round(2 ** ((bucket - 1.5) / 4)));
}

/** The smallest time that `share` of the requests did not exceed (nearest rank). */
export function quantileOf(counts: Float64Array, share: number, longest: number): number {
  let total = 0;
  for (const count of counts) total += count;
  if (total === 0) return 0;
  const rank = Math.ceil(total * share);
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket]!;
    seen += count;
    if (count > 0 && seen >= rank) return middle(bucket, longest);
  }
  return longest;
}
