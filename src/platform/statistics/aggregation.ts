/** Valid ranges of statistics, and the rollups that answer them. */
import type { Grain } from './cover.ts';

export const AGGREGATIONS = [
  'no-aggregation',
  'yearly',
  'monthly',
  'weekly',
  'daily',
  'hourly',
  'minutely',
  'secondly',
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/**
 * `unit`: truncation unit of Postgres (UTC, ISO weeks); null: a single bucket. `coarsest`: null reads the requests
 * themselves.
 */
export const BUCKET: Record<Aggregation, { unit: string | null; coarsest: Grain | null }> = {
  'no-aggregation': { unit: null, coarsest: 'day' },
  yearly: { unit: 'year', coarsest: 'day' },
  monthly: { unit: 'month', coarsest: 'day' },
  weekly: { unit: 'week', coarsest: 'day' },
  daily: { unit: 'day', coarsest: 'day' },
  hourly: { unit: 'hour', coarsest: 'hour' },
  minutely: { unit: 'minute', coarsest: 'minute' },
  secondly: { unit: 'second', coarsest: null },
};

const HOUR_MS = 3_600_000;
const LONGEST: Partial<Record<Aggregation, { ms: number; words: string }>> = {
  secondly: { ms: 24 * HOUR_MS, words: '24 hours' },
  minutely: { ms: 31 * 24 * HOUR_MS, words: '31 days' },
  // A leap year. Over ten million requests, two years of hours took 190 to 220 ms (p99).
  hourly: { ms: 366 * 24 * HOUR_MS, words: '366 days' },
};

/** Why the range is invalid; null if it is valid. `minutesSince`: when the figures by minute begin. */
export function rangeProblem(
  aggregation: Aggregation,
  { from, to }: { from: Date; to: Date },
  minutesSince = 0,
): { field: string; text: string } | null {
  if (from.getTime() > to.getTime()) return { field: 'date.from', text: 'must not be after date.to' };
  if (aggregation === 'minutely' && from.getTime() < minutesSince)
    return { field: 'aggregation', text: `minutely begins at ${new Date(minutesSince).toISOString()}; use hourly` };
  const longest = LONGEST[aggregation];
  if (!longest || to.getTime() - from.getTime() <= longest.ms) return null;
  return { field: 'aggregation', text: `${aggregation} is over at most ${longest.words}` };
}

/** `to` defaults to now, `from` to a month before it, on the same day or the last day of that month. */
export function periodOf(asked: { from: Date | null; to: Date | null }, now: Date): { from: Date; to: Date } {
  const to = asked.to ?? now;
  return { from: asked.from ?? monthBefore(to), to };
}

function monthBefore(time: Date): Date {
  const out = new Date(time);
  out.setUTCDate(1);
  out.setUTCMonth(out.getUTCMonth() - 1);
  const days = new Date(Date.UTC(out.getUTCFullYear(), out.getUTCMonth() + 1, 0)).getUTCDate();
  out.setUTCDate(Math.min(time.getUTCDate(), days));
  return out;
}

/** A month in UTC. A year alone means the whole year, a month alone one of this year. */
export function summaryPeriod(
  asked: { month: number | null; year: number | null },
  now: Date,
): { from: Date; to: Date } {
  const year = asked.year ?? now.getUTCFullYear();
  if (asked.year !== null && asked.month === null)
    return { from: new Date(Date.UTC(year, 0)), to: new Date(Date.UTC(year + 1, 0)) };
  const month = asked.month ?? now.getUTCMonth() + 1;
  return { from: new Date(Date.UTC(year, month - 1)), to: new Date(Date.UTC(year, month)) };
}
