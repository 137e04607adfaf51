/**
 * Queue times are counted in buckets a quarter of an octave wide (queue_bucket() in the record), because a p95 cannot
 * be summed and counts can. What is read out is the middle of the bucket that holds the exact p95: at most 9.1 % away
 * from it (2^(1/8)), or half a millisecond where that is more; never more than the longest of them.
 */
const BUCKETS = 67;
const COUNT = 2 ** 32;

/** From `bucket << 32 | count` by commas, in any order, buckets repeated. */
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

/** Bucket 1 is 0 ms; bucket i from 2 on begins at 2^((i-2)/4); the last has no end. */
function middle(bucket: number, longest: number): number {
  if (bucket <= 1) return 0;
  if (bucket >= BUCKETS) return longest;
  return Math.min(longest, Math.round(2 ** ((bucket - 1.5) / 4)));
}

/** The smallest time that a share of the requests did not wait longer than (nearest rank). */
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
