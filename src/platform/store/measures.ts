/**
 * What a statistic counts, as an expression for each place that holds usage: the rollups, the usage not yet folded, and
 * the requests themselves.
 */
import { RECORDED_KINDS, type RecordedKind } from '../kube/probe_job.ts';
import type { Statistic } from '../statistics/resources.ts';

export interface Measure {
  /** Name in the response. */
  name: string;
  aggregate: 'sum' | 'max' | 'histogram';
  /** Columns of rollup_minute, rollup_hour and rollup_day. */
  kept: string;
  /** Column of usage_minute: one row per kind and scheme. */
  live: string;
  /** Expression over ended requests. */
  raw: string;
}

const sum = (name: string, kept: string, live: string, raw: string): Measure => ({
  name,
  aggregate: 'sum',
  kept,
  live,
  raw,
});
const added = (columns: readonly string[]) => columns.map((column) => `coalesce(${column}, 0)`).join(' + ');

const ENDS = [
  ['success', 'success', 'success'],
  ['with-errors', 'with_errors', 'with_errors'],
  ['error', 'error', 'errors'],
] as const;

/** Kinds with a column for each end; the counts of others are in `other_kinds`. */
const WITH_COLUMNS: readonly RecordedKind[] = ['file', 'msv', 'c2pa', 'compare'];
const countOf = (name: RecordedKind, end: string): string =>
  WITH_COLUMNS.includes(name) ? `${name}_${end}` : `(other_kinds->>'${name}_${end}')::integer`;

const kind = (name: RecordedKind): Measure =>
  sum(
    name,
    added(ENDS.map(([, column]) => countOf(name, column))),
    `case when kind = '${name}' then requests else 0 end`,
    `(kind = '${name}')::integer`,
  );
const end = ([state, column, live]: (typeof ENDS)[number]): Measure =>
  sum(state, added(RECORDED_KINDS.map((name) => countOf(name, column))), live, `(state = '${state}')::integer`);
const scheme = (name: string, also: string[] = []): Measure => {
  const these = `scheme in (${[name, ...also].map((one) => `'${one}'`).join(', ')})`;
  return sum(name, name, `case when ${these} then requests else 0 end`, `(${these})::integer`);
};

const REQUESTS = sum('request-count', 'requests', 'requests', '1');
const QUEUE_MS = sum('queue-time', 'queue_ms', 'queue_ms', 'queue_time_ms');

export const MEASURES = {
  usage: [
    REQUESTS,
    sum('processing-time', 'processing_ms', 'processing_ms', 'usage_ms'),
    sum('data-processed', 'io_bytes', 'io_bytes', 'io_bytes'),
    QUEUE_MS,
    sum('decoded-seconds', `(other_kinds->>'decoded_seconds')::bigint`, 'decoded_seconds', 'decoded_seconds'),
  ],
  queue: [
    REQUESTS,
    QUEUE_MS,
    { name: 'longest', aggregate: 'max', kept: 'queue_max_ms', live: 'queue_max_ms', raw: 'queue_time_ms' },
    sum('timed-out', 'timed_out', 'timed_out', `(reason is not distinct from 'QueueTimeout')::integer`),
    {
      name: 'histogram',
      aggregate: 'histogram',
      kept: `array_to_string(queue_histogram, ',')`,
      live: `(select string_agg(((bucket << 32) | n)::text, ',')
        from unnest(queue_histogram) with ordinality h (n, bucket) where n > 0)`,
      raw: '((queue_bucket(queue_time_ms)::bigint << 32) | 1)::text',
    },
  ],
  requests: [...RECORDED_KINDS.map(kind), ...ENDS.map(end)],
  sources: [
    scheme('hls'),
    scheme('dash'),
    scheme('http'),
    scheme('https'),
    scheme('s3'),
    scheme('ftp'),
    scheme('rtmp', ['rtmps']),
    scheme('rtsp', ['rtsps']),
    scheme('srt'),
  ],
} as const satisfies Record<Statistic, readonly Measure[]>;

/** Counts of one end, of these kinds (empty: all), for the log's totals. */
export const crossed = (kinds: readonly RecordedKind[], state: (typeof ENDS)[number][0]): Measure => {
  const wanted = RECORDED_KINDS.filter((name) => kinds.length === 0 || kinds.includes(name));
  const [, column, live] = ENDS.find(([name]) => name === state)!;
  const isWanted = `kind in (${wanted.map((name) => `'${name}'`).join(', ')})`;
  return sum(
    'total',
    added(wanted.map((name) => countOf(name, column))),
    `case when ${isWanted} then ${live} else 0 end`,
    `(${isWanted} and state = '${state}')::integer`,
  );
};
