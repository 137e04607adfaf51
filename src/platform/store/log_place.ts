/**
 * Locates a page of the log with the counts of the rollups: a page out of two years is read from the one or two days
 * that hold it.
 */
import { SIZE, type Range } from '../statistics/cover.ts';

/** Number of requests per state submitted on one day. */
export interface Counted {
  at: number;
  counts: readonly number[];
}
/** A part of a page: rows of one state, or of all (null), in order of time. */
export interface Slice {
  state: number | null;
  range: Range;
  offset: number;
  limit: number;
}

/**
 * The days that hold `limit` rows from `offset` on, and the offset within the first of them; null if there are none.
 */
export function seek(
  days: readonly { at: number; count: number }[],
  range: Range,
  { offset, limit, order }: { offset: number; limit: number; order: 'asc' | 'desc' },
): { range: Range; offset: number } | null {
  const held = (order === 'asc' ? days : days.toReversed()).filter(({ count }) => count > 0);
  let left = offset;
  const first = held.findIndex(({ count }) => left < count || ((left -= count), false));
  if (first < 0 || limit <= 0) return null;
  let seen = -left;
  const last = held.findIndex(({ count }, index) => index >= first && (seen += count) >= limit);
  const [near, far] = [held[first]!.at, last < 0 ? null : held[last]!.at];
  // A request that ends meanwhile may belong to any day, so the range stays open if the counted rows run out.
  const [from, to] =
    order === 'asc' ? [near, far === null ? range.to : far + SIZE.day] : [far ?? range.from, near + SIZE.day];
  return { range: { from: Math.max(range.from, from), to: Math.min(range.to, to) }, offset: left };
}

/**
 * Splits a page into slices of few days. `byState`: the order of states for a page sorted by state; null treats all
 * states as one. Pure.
 */
export function slices(
  days: readonly Counted[],
  range: Range,
  {
    offset,
    limit,
    order,
    byState,
  }: { offset: number; limit: number; order: 'asc' | 'desc'; byState: readonly number[] | null },
): Slice[] {
  const parts = byState ?? [null];
  let skip = offset;
  let left = limit;
  return parts.flatMap((state): Slice[] => {
    const these = days.map(({ at, counts }) => ({
      at,
      count: state === null ? counts.reduce((sum, count) => sum + count, 0) : (counts[state] ?? 0),
    }));
    const total = these.reduce((sum, { count }) => sum + count, 0);
    const wanted = Math.min(left, Math.max(0, total - skip));
    const place = seek(these, range, { offset: skip, limit: wanted, order });
    skip = Math.max(0, skip - total);
    if (!place) return [];
    left -= wanted;
    return [{ state, ...place, limit: wanted }];
  });
}
