/** Recounts statistics from the requests alone: every figure must equal it. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { Store } from '../../src/platform/store/store.ts';
import type { Aggregation } from '../../src/platform/statistics/aggregation.ts';
import { readHistogram, type Statistic } from '../../src/platform/statistics/resources.ts';

const filtered = (where: string) => `(count(*) filter (where ${where}))::float8`;
const RECOUNT: Record<Statistic, string> = {
  usage:
    'count(*)::float8, sum(usage_ms)::float8, sum(io_bytes)::float8, sum(queue_time_ms)::float8, ' +
    'coalesce(sum(decoded_seconds), 0)::float8',
  queue:
    'count(*)::float8, sum(queue_time_ms)::float8, max(queue_time_ms), ' +
    `${filtered(`reason = 'QueueTimeout'`)}, string_agg(((queue_bucket(queue_time_ms)::bigint << 32) | ` +
    `1)::text, ',')`,
  requests: [
    `kind = 'file'`,
    `kind = 'msv'`,
    `kind = 'c2pa'`,
    `kind = 'compare'`,
    `kind = 'cached'`,
    `state = 'success'`,
    `state = 'with-errors'`,
    `state = 'error'`,
  ]
    .map(filtered)
    .join(', '),
  sources: ['hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt']
    .map((scheme) => filtered(`scheme = '${scheme}'`))
    .join(', '),
};
const UNIT: Record<Aggregation, string | null> = {
  'no-aggregation': null,
  yearly: 'year',
  monthly: 'month',
  weekly: 'week',
  daily: 'day',
  hourly: 'hour',
  minutely: 'minute',
  secondly: 'second',
};

export interface Asked {
  statistic: Statistic;
  aggregation: Aggregation;
  from: Date;
  to: Date;
  userIds: number[];
  tokenIds?: number[] | null;
}

async function recount(
  client: pg.Client,
  { statistic, aggregation, from, to, userIds, tokenIds = null }: Asked,
): Promise<unknown[][]> {
  const unit = UNIT[aggregation];
  const { rows } = await client.query<unknown[]>({
    text: `select user_id::integer,
    ${unit === null ? 'null' : `extract(epoch from date_trunc('${unit}', submitted_at, 'UTC'))::float8  * 1000`} as at,
    ${RECOUNT[statistic]}
      from requests where user_id = any($1) and ($2::bigint[] is null or token_id = any($2)) and state <> 'open' and
      submitted_at >= $3 and submitted_at < $4 group by 1, 2 order by 1, 2`,
    values: [userIds, tokenIds, from, to],
    rowMode: 'array',
  });
  return rows;
}

// The text of the histogram lists its buckets in any order.
const settled = (statistic: Statistic, row: readonly unknown[]) =>
  statistic === 'queue' ? [...row.slice(0, -1), readHistogram(String(row.at(-1)))] : [...row];

/** Returns the number of compared buckets. */
export async function assertEqualsRecount(store: Store, client: pg.Client, asked: Asked): Promise<number> {
  const { statistic, aggregation, from, to, userIds, tokenIds = null } = asked;
  const figures = await store.usageFigures(statistic, { userIds, tokenIds }, { from, to }, aggregation);
  assert.deepEqual(
    figures.map(({ userId, at, values }) =>
      settled(statistic, [userId, at?.getTime() ?? null, ...Object.values(values)]),
    ),
    (await recount(client, asked)).map((row) => settled(statistic, row)),
    `${statistic} ${aggregation} of ${String(userIds)} from ${from.toISOString()} to ${to.toISOString()}`,
  );
  return figures.length;
}
