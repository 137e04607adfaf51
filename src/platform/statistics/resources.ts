/** Statistics in the form of the API: by name, in its order. */
import { KINDS } from '../kube/probe_job.ts';
import { SOURCE_GROUPS } from '../../source/source.ts';
import { quantileOf, readHistogram } from './histogram.ts';

export const NAMES = {
  usage: ['request-count', 'processing-time', 'data-processed', 'queue-time'],
  queue: ['request-count', 'queue-time-average', 'queue-time-p95', 'queue-time-maximum', 'timed-out'],
  requests: [...KINDS, 'success', 'with-errors', 'error'],
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

export type ValueType = 'ms' | 'request' | 'byte';
export interface SummaryResource {
  name: string;
  title: string;
  value: number;
  'value-type': ValueType | null;
  amount: number;
  price: number;
}

const SUMMARY: { name: (typeof NAMES.usage)[number]; title: string; type: ValueType }[] = [
  { name: 'request-count', title: 'Requests', type: 'request' },
  { name: 'processing-time', title: 'Processing time', type: 'ms' },
  { name: 'data-processed', title: 'Data processed', type: 'byte' },
  { name: 'queue-time', title: 'Time in the queue', type: 'ms' },
];

/** There is no billing: amount and price are 0. */
export function summaryOf(values: Values): SummaryResource[] {
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
