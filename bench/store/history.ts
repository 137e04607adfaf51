/**
 * Two years of requests, generated in the database itself, with users of very different size (the largest has a tenth
 * of everything), days and nights, every kind, end and scheme. The rollups are derived from them by plain grouping, and
 * the benchmark checks them against a recount.
 */
import type pg from 'pg';

export interface History {
  requests: number;
  users: number;
  months: number;
}

const KINDS = ['file', 'msv', 'c2pa'];
const COUNTERS = (kind: string) =>
  [
    `nullif(count(*) filter (where kind = '${kind}' and state = 'success'), 0)`,
    `nullif(count(*) filter (where kind = '${kind}' and state = 'with-errors'), 0)`,
    `nullif(count(*) filter (where kind = '${kind}' and state = 'error'), 0)`,
  ].join(', ');
const SCHEMES = ['hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt'];

const ROLLUP = (grain: string, owner: string, from: string, to: string) => `
  with r as materialized (select ${owner},
  date_trunc('${grain}', submitted_at, 'UTC') at, kind, scheme, state, reason, usage_ms, io_bytes, queue_time_ms from
  requests where submitted_at >= ${from} and submitted_at < ${to}),
  h as (select user_id, at, token_id, array_agg((bucket << 32) | n order by bucket) queue_histogram from (select
  user_id, at, token_id, queue_bucket(queue_time_ms)::bigint bucket, count(*) n from r group by 1, 2, 3, 4) s group by
  1, 2, 3),
  s as (select user_id, at, token_id, count(*) requests,
  ${KINDS.map(COUNTERS).join(', ')},
  ${SCHEMES.map((scheme) => `nullif(count(*) filter (where scheme = '${scheme}'), 0)`).join(', ')},
    nullif(count(*) filter (where reason = 'QueueTimeout'), 0) timed_out, nullif(sum(usage_ms), 0)::bigint,
    nullif(sum(io_bytes), 0)::bigint, nullif(sum(queue_time_ms), 0)::bigint, max(queue_time_ms) from r group by 1, 2, 3)
  insert into rollup_${grain} (user_id, at, token_id, requests,
  ${KINDS.flatMap((kind) => ['success', 'with_errors', 'error'].map((end) => `${kind}_${end}`)).join(', ')},
  ${SCHEMES.join(', ')}, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram)
  select s.*, h.queue_histogram from s join h using (user_id, at, token_id)`;

const REQUESTS = (count: number, users: number, from: string, to: string, now: string) => `
  insert into requests (id, submitted_at, token_id, user_id, kind, state, status, attempt, queue_timeout_ms, timeout_ms,
  queue_time_ms, usage_ms, io_bytes, started_at, ended_at,
      has_body, scheme, display, reason, ffprobe_state, mediainfo_state, report_state, tools, request)
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(hash, 1, 3) || '8' ||
    substr(hash, 4, 15))::uuid, at, u * 2 + (b < 0.3)::integer, u,
      case when c < 0.9 then 'file' when c < 0.96 then 'msv' else 'c2pa' end, case when d < 0.88 then 'success' when d <
      0.95 then 'with-errors' else 'error' end,
      case when d < 0.95 then 200 when d < 0.97 then 429 else 404 end, 1, 60000, 65000, floor(2 ^ (a * 14)), (50 + b *
      900)::integer, (c * 5000000)::bigint, at, at, false,
      scheme, scheme || '://media-' || u % 50 || '.example.org/assets/' || substr(hash, 1, 8) || '/clip-' || g || case
      when scheme = 'hls' then '.m3u8' else '.mp4' end,
      case when d < 0.95 then 'Completed' when d < 0.97 then 'QueueTimeout' else 'OriginUnreachable' end,
      case when c >= 0.9 then null when d < 0.88 then 'success' else 'error' end, case when c >= 0.9 or b < 0.1 then
      null when d < 0.95 then 'success' else 'error' end, case when c >= 0.9 then null when d < 0.95 then 'success' else
      'error' end,
      '[{"name":"ffprobe","version":"7.0","success":true,"durationMs":31,"usageMs":31},'
      '{"name":"mediainfo","version":"24.06","success":true,"durationMs":44,"usageMs":44}]',
      '{"options":{"only":null,"ffprobe":{"enabled":true,"version":"7.0","timeout":60000,"output_format":"json",'
      '"show_format":true,"show_streams":true},"inject_json":false},"response":{"shown":["ffprobe","mediainfo",'
      '"probe_report"],"injectOutput":false,"injectJson":false}}'
    from (
      select g, a, b, c, d, hash, 1 + floor(${users} * power(a, 3))::integer u,
        to_timestamp(floor(1000 * (extract(epoch from
        ${from}::timestamptz) + (extract(epoch from
        least(${to}::timestamptz, ${now}::timestamptz)) - extract(epoch from
        ${from}::timestamptz)) * (g + b) / ${count + 1})) / 1000) at,
        (array['https', 'https', 'https', 'https', 'hls', 'hls', 's3', 'http', 'dash', 'rtmp', 'srt', 'ftp', 'rtsp'])[1
        + floor(power(e, 1.5) * 13)::integer] scheme
      from (select g, random() a, random() b, random() c, random() d, random() e, md5(g::text || random()::text) hash
      from generate_series(0, ${count - 1}) g) s) t`;

/** Returns the time of the latest request. */
export async function makeHistory(
  client: pg.Client,
  { requests, users, months }: History,
  report: (line: string) => void = () => {},
): Promise<{ from: Date; to: Date }> {
  const literal = (time: Date) => `'${time.toISOString()}'`;
  const now = new Date();
  const month = (back: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back));
  const share = (back: number) =>
    (Math.min(month(back - 1).getTime(), now.getTime()) - month(back).getTime()) /
    (now.getTime() - month(months - 1).getTime());
  await client.query(
    `insert into users (email, status, role) select 'user' || g || ` +
      `'@example.org', 'active', 'user' from generate_series(1, ${users}) g`,
  );
  await client.query(
    `insert into tokens (user_id, name, sha256) select g / 2, 'token', sha256(g::text::bytea) from ` +
      `generate_series(2, ${users * 2 + 1}) g where g / 2 in (select id from users)`,
  );
  const { rows: indexes } = await client.query<{ indexname: string; indexdef: string }>(
    `select indexname, indexdef from pg_indexes where tablename = 'requests' and indexname <> 'requests_pkey'`,
  );
  await client.query('alter table requests drop constraint requests_pkey');
  for (const { indexname } of indexes) await client.query(`drop index ${indexname}`);
  for (let back = months - 1; back >= 0; back--) {
    const [from, to] = [literal(month(back)), literal(month(back - 1))];
    const part = `_${month(back).toISOString().slice(0, 7).replace('-', '')}`;
    const { rows } = await client.query(`select to_regclass('requests${part}') there`);
    if (rows[0].there === null)
      await client.query(`create table requests${part} partition of requests for values from (${from}) to (${to})`);
    await client.query(REQUESTS(Math.round(requests * share(back)), users, from, to, literal(now)));
    for (const grain of ['minute', 'hour', 'day']) {
      await client.query(ROLLUP(grain, 'user_id, token_id', from, to));
      await client.query(ROLLUP(grain, '0::bigint user_id, 0::bigint token_id', from, to));
    }
    report(`${month(back).toISOString().slice(0, 7)} is there`);
  }
  await client.query('alter table requests add primary key (id, submitted_at)');
  for (const { indexdef } of indexes) await client.query(indexdef.replace(' ON ONLY ', ' ON '));
  // The state that autovacuum leaves, because index-only scans rely on the visibility map.
  await client.query('vacuum analyze requests');
  await client.query('vacuum analyze rollup_minute');
  await client.query('vacuum analyze rollup_hour');
  await client.query('vacuum analyze rollup_day');
  report('indexes and statistics are there');
  return { from: month(months - 1), to: now };
}
