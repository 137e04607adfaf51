/**
 * `make bench-sizing`: bytes on disk per row of what grows, as the calls of API and controllers write it, and what
 * follows for 100 million and 3.15 billion requests (two years of 50 jobs/s). For docs/operating/sizing.md.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate } from '../../src/platform/store/migrate.ts';
import { startPostgres } from '../../test/servers.ts';

const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const ROWS = Number(options.rows);
const BATCH = 1_000;
const TOKENS = 1_000;
/** As many results of each size as are enough for a mean. */
const BODIES = 5_000;
const MANY = [100e6, 3.15e9];

/** 50 requests a second, of tokens in turn. */
const REQUEST = `
  select g, at, g % ${TOKENS} + 1 token, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' ||
      substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid id, hash
    from (select g, $3::timestamptz + g * interval '20 ms' as at, md5(g::text) hash
      from generate_series($1::integer, $2) g) s`;
const TOOLS = `[{"name":"ffprobe","version":"7.0","success":true,"durationMs":31,"usageMs":31},
  {"name":"mediainfo","version":"24.06","success":true,"durationMs":44,"usageMs":44}]`;
const OPEN = `
  select count(o.outcome) from (${REQUEST}) r, lateral open_request(r.id, r.at, r.token, r.token, 'file',
    'https://media-' || r.token || '.example.org/assets/' || left(r.hash, 8) || '/clip-' || r.g || '.mp4', 'https',
    '{"options":{"only":null,"ffprobe":{"enabled":true,"version":"7.0","timeout":60000,"output_format":"json",
      "show_format":true,"show_streams":true},"inject_json":false},"response":{"shown":["ffprobe","mediainfo",
      "probe_report"],"injectOutput":false,"injectJson":false}}',
    '${TOOLS}', 60000, 65000, 'api-1', null, null, null, 0, null, null) o`;
const CLOSE = `
  select count(c.closed) from (${REQUEST}) r, lateral close_request(r.id, r.at, 'success', 200, 'Completed', null, 1,
    r.at, '${TOOLS}', 'success', 'success', 'success', 75, 2000000, null, gen_random_uuid(), 20000, null) c`;
/** A batch, whose items are written three times each: when it is created, when they run, when they end. */
const ITEMS = `
  insert into batch_items (batch_id, created_at, n, host, display, ref, sealed)
    select $1::uuid, $2::timestamptz, n, n % 50, 'https://media.example.org/assets/' || md5(n::text) || '/clip.mp4',
      'asset-' || n, decode(repeat(md5(n::text), 7), 'hex') from generate_series(1, $3::integer) n`;
const RUN_ITEMS = `
  update batch_items set state = 'running', tries = 1, request_id = gen_random_uuid(), submitted_at = now()
    where batch_id = $1 and created_at = $2 and n between $3 and $4`;
const END_ITEMS = `
  update batch_items set state = case when n % 20 = 0 then 'error' else 'success' end, status = 200,
      reason = 'Completed', code = case when n % 20 = 0 then 'http-404' end, io_bytes = 2000000, sealed = null,
      ended_at = now()
    where batch_id = $1 and created_at = $2 and n between $3 and $4`;
const SIZES = `
  select coalesce(sum(pg_table_size(c.oid)), 0)::float8 rows, coalesce(sum(pg_indexes_size(c.oid)), 0)::float8 indexes
    from pg_class c where c.relkind = 'r' and c.oid in (
      select $1::regclass union all select inhrelid from pg_inherits where inhparent = $1::regclass)`;

const size = (bytes: number): string => {
  const thousands = Math.min(4, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${Number((bytes / 1_000 ** thousands).toPrecision(2))} ${['B', 'kB', 'MB', 'GB', 'TB'][thousands]}`;
};

async function measured(client: pg.Client): Promise<void> {
  const row = async (what: string, table: string, less = { rows: 0, indexes: 0, n: 0 }) => {
    await client.query(`vacuum ${table}`);
    const {
      rows: [found],
    } = await client.query<{ rows: number; indexes: number }>(SIZES, [table]);
    const { rows: counted } = await client.query<{ n: number }>(`select count(*)::float8 n from ${table}`);
    const n = counted[0]!.n - less.n;
    const [heap, indexes] = [(found!.rows - less.rows) / n, (found!.indexes - less.indexes) / n];
    const cells = [what, n.toLocaleString('en'), `${Math.round(heap)}`, `${Math.round(indexes)}`];
    console.log(`| ${[...cells, ...MANY.map((many) => size(many * (heap + indexes)))].join(' | ')} |`);
    return { ...found!, n: counted[0]!.n };
  };
  console.log('| table | rows | bytes | bytes of indexes | 100 million | 3.15 billion |');
  await row('`requests`', 'requests');
  let before = { rows: 0, indexes: 0, n: 0 };
  for (const bytes of [2_200, 20_000]) {
    await client.query(
      `insert into envelopes (id, submitted_at, body) select gen_random_uuid(), now(), $1::bytea
        from generate_series(1, $2::integer)`,
      [randomBytes(bytes), BODIES],
    );
    before = await row(`\`envelopes\`, ${bytes / 1_000} kB`, 'envelopes', before);
  }
  for (const grain of ['minute', 'hour', 'day']) await row(`\`rollup_${grain}\``, `rollup_${grain}`);
  await client.query(
    `insert into erased (kind, id) select 'request', gen_random_uuid()::text from generate_series(1, 100000)`,
  );
  await row('`erased`', 'erased');
  await row('`batch_items`', 'batch_items');
}

async function makeItems(client: pg.Client): Promise<void> {
  const batch = ['01900000-0000-7000-8000-000000000000', new Date()];
  const most = Math.min(ROWS, 200_000);
  await client.query(ITEMS, [...batch, most]);
  for (let from = 1; from <= most; from += BATCH) {
    for (const text of [RUN_ITEMS, END_ITEMS]) await client.query(text, [...batch, from, from + BATCH - 1]);
    if (Math.floor(from / BATCH) % 50 === 49) await client.query('vacuum batch_items');
  }
}

const server = await startPostgres({ settings: { shared_buffers: '256MB', max_wal_size: '4GB' } });
try {
  await migrate({ url: server.url });
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  const start = new Date(Date.now() - ROWS * 20);
  for (let from = 1; from <= ROWS; from += BATCH) {
    const values = [from, Math.min(ROWS, from + BATCH - 1), start];
    await client.query(OPEN, values);
    await client.query(CLOSE, values);
    // As often as autovacuum comes to it.
    if (Math.floor(from / BATCH) % 50 === 49) await client.query('vacuum requests, usage_minute');
    while ((await client.query<{ n: number }>(`select fold_usage('0 s') n`)).rows[0]!.n > 0);
  }
  await makeItems(client);
  await measured(client);
  await client.end();
} finally {
  await server.stop();
}
