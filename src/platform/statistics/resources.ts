/** Statistics in the form of the API: by name, in its order. */
import { RECORDED_KINDS } from '../kube/probe_job.ts';
import { SOURCE_GROUPS } from '../../source/source.ts';

export const NAMES = {
  usage: ['request-count', 'processing-time', 'data-processed', 'queue-time', 'decoded-seconds'],
  queue: ['request-count', 'queue-time-average', 'queue-time-p95', 'queue-time-maximum', 'timed-out'],
  requests: [...RECORDED_KINDS, 'success', 'with-errors', 'error'],
  sources: SOURCE_GROUPS,
} as const;
export type Statistic = keyof typeof NAMES;

const rounded = (value: number) => Math.round(value * 1000) / 1000;

/** The sums of one bucket, by names of measures (src/platform/store/measures.ts). */
export type Values = Record<string, number | string>;

function queue(values: Values): Values {
  const most = Number(values['longest']);
  return {
    'request-count': values['request-count']!,
    'queue-time-average': rounded(Number(values['queue-time']) / Number(values['request-count'])),
    'queue-time-p95': quantileOf(readHistogram(String(values['histogram'])), 0.95, most),
    'queue-time-maximum': most,
    'timed-out': values['timed-out']!,
  };
}

function resourcesOf(statistic: Statistic, values: Values): Record<string, number> {
  const figures = statistic === 'queue' ? queue(values) : values;
  const resources: Record<string, number> = {};
  // A loop is faster than Object.fromEntries: two years have 17,520 hours.
  for (const name of NAMES[statistic]) resources[name] = Number(figures[name] ?? 0);
  return resources;
}

export interface Bucket {
  userId: number;
  /** Start of the bucket; null: a single bucket for the whole range. */
  at: Date | null;
  values: Values;
}
export interface UserUsage {
  'user-id': number;
  'aggregated-usage': { 'aggregation-time': string; resources: Record<string, number> }[];
}

/** `buckets` are ordered by user and time. `from`: the time of a single bucket. */
export function usersUsage(statistic: Statistic, buckets: readonly Bucket[], from: Date): UserUsage[] {
  const users: UserUsage[] = [];
  const whole = from.toISOString();
  for (const { userId, at, values } of buckets) {
    let user = users.at(-1);
    if (user?.['user-id'] !== userId) users.push((user = { 'user-id': userId, 'aggregated-usage': [] }));
    user['aggregated-usage'].push({
      'aggregation-time': at === null ? whole : at.toISOString(),
      resources: resourcesOf(statistic, values),
    });
  }
  return users;
}

const SUMMARY: { name: (typeof NAMES.usage)[number]; title: string; type: 'ms' | 'request' | 'byte' | 'second' }[] = [
  { name: 'request-count', title: 'Requests', type: 'request' },
  { name: 'processing-time', title: 'Processing time', type: 'ms' },
  { name: 'data-processed', title: 'Data processed', type: 'byte' },
  { name: 'queue-time', title: 'Time in the queue', type: 'ms' },
  { name: 'decoded-seconds', title: 'Media decoded', type: 'second' },
];

/** There is no billing: amount and price are 0. */
export function summaryOf(values: Values) {
  const resources = resourcesOf('usage', values);
  return SUMMARY.map(({ name, title, type }) => ({
    name,
    title,
    value: resources[name] ?? 0,
    'value-type': type,
    amount: 0,
    price: 0,
  }));
}

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
function quantileOf(counts: Float64Array, share: number, longest: number): number {
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
