/**
 * `make bench-upgrade`: the migrations after those of the version before (LAST), and one of each form that they may
 * have, on full tables, while requests are opened, ended and read, usage is folded, and a backup reads for a while.
 * `--rows`: of figures by minute, the table that grows with tokens and time; a tenth as many requests with results. The
 * unit test runs the short form.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { migrate, type Migration, readMigrations } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../../test/servers.ts';
import { aCloseInput, anOpenInput } from '../../test/store/fixture.ts';
import { until } from '../../test/until.ts';
import { summary, type Summary } from '../statistics.ts';

/** The last migration of the version before. */
const LAST = 7;
const USERS = 100;
const READER_MS = 3_000;
/** That meet a migration which waits for the backup. */
const LEAST_CALLS = 320;

const FILL = (rows: number) => [
  `insert into rollup_minute (user_id, at, token_id, requests, file_success, https, processing_ms, io_bytes, queue_ms,
      queue_max_ms, queue_histogram)
    select u, date_trunc('minute', now(), 'UTC') - m * interval '1 minute', u, 3, 3, 3, 90, 90000, 9, 5,
      array[(5::bigint << 32) | 3]
    from generate_series(0, ${Math.ceil(rows / (USERS + 1))}) m, generate_series(0, ${USERS}) u`,
  `insert into requests (id, submitted_at, token_id, user_id, kind, state, status, display, scheme, request, tools,
      queue_timeout_ms, timeout_ms, usage_ms, io_bytes, queue_time_ms, ended_at, has_body)
    select gen_random_uuid(), now() - g * interval '1 second', g % ${USERS} + 1, g % ${USERS} + 1, 'file', 'success',
      200, 'https://media.example.org/clip-' || g || '.mp4', 'https', '{"ffprobe": {"version": "7.0"}}', '[]', 60000,
      65000, 30, 30000, 3, now(), true
    from generate_series(1, ${Math.ceil(rows / 10)}) g`,
  `insert into envelopes (id, submitted_at, body)
    select id, submitted_at, decode(repeat(md5(id::text), 32), 'hex') from requests`,
  'analyze',
];

/** As the version before reads usage: ours waits for the columns of its schema. */
const FIGURES = `select at, sum(requests), sum(file_success), sum(processing_ms), sum(io_bytes) from rollup_minute
  where user_id = 7 and at >= now() - interval '1 day' group by at order by at`;

/** As CONTRIBUTING.md asks for. */
const FORMS = [
  'alter table envelopes add column extra text',
  'alter table rollup_minute add constraint rollup_minute_counts check (requests >= 0) not valid',
  '-- no transaction\nalter table rollup_minute validate constraint rollup_minute_counts;\n',
  '-- no transaction\ndrop index concurrently if exists rollup_hour_time;\n' +
    'create index concurrently rollup_hour_time on rollup_hour (at);\n',
].map((sql, at): Migration => ({ version: 9001 + at, name: `form ${at + 1}`, sha256: '', sql }));

export interface Upgrade {
  calls: Summary;
  waits: number;
  migrations: { name: string; seconds: number }[];
}

export async function upgradeUnderLoad(rows: number, say: (line: string) => void = () => {}): Promise<Upgrade> {
  const server = await startPostgres({ settings: { shared_buffers: '128MB', max_wal_size: '4GB' } });
  const { url } = server;
  try {
    await migrate(
      { url },
      readMigrations().filter(({ version }) => version <= LAST),
    );
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const text of FILL(rows)) await client.query(text);
    say('the tables are full');
    const store = await openStore({ url, poolSize: 8, retryMs: 0 });
    const reading = new pg.Client({ connectionString: url });
    await reading.connect();
    const times: number[] = [];
    const working = { on: true };
    const timed = async (call: () => Promise<unknown>): Promise<void> => {
      const begun = performance.now();
      await call();
      times.push(performance.now() - begun);
    };
    const again = async (everyMs: number, calls: () => Promise<unknown>): Promise<void> => {
      while (working.on) await Promise.all([calls(), pause(everyMs)]);
    };
    const requests = () =>
      again(20, async () => {
        const open = anOpenInput(store, { userId: 7, tokenId: 7 });
        await timed(() => store.openRequest(open));
        await timed(() => store.closeRequest(aCloseInput(open, { body: Buffer.alloc(2_000) })));
        await timed(() => store.readBody(open.id, open.submittedAt));
      });
    const figures = () => again(50, () => timed(() => reading.query(FIGURES)));
    const folds = () => again(200, () => timed(() => store.foldUsage({ restSeconds: 0 })));
    const failed = Promise.all([requests(), requests(), figures(), folds()]);
    // A backup reads every table in one transaction, and holds up the migration, but nobody behind it.
    await client.query('begin; select from envelopes limit 1; select from rollup_minute limit 1');
    const backup = async () => {
      await pause(READER_MS);
      await until('enough calls', () => times.length > LEAST_CALLS, 60_000);
      await client.query('commit');
    };
    const reader = backup();
    const migrations: Upgrade['migrations'] = [];
    let waits = 0;
    const migrating = migrate({ url }, [...readMigrations(), ...FORMS], (fields, message) => {
      say(`${message} ${JSON.stringify(fields)}`);
      const { migration, seconds } = fields as { migration: string; seconds: number };
      if (message.endsWith('complete')) migrations.push({ name: migration, seconds });
      if (message.endsWith('will retry')) waits++;
    });
    await Promise.race([migrating, failed]);
    await pause(200);
    working.on = false;
    await Promise.all([failed, reader]);
    await Promise.all([store.close(), client.end(), reading.end()]);
    return { calls: summary(times), waits, migrations };
  } finally {
    await server.stop();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rows: { type: 'string', default: '20000000' } } });
  const rows = Number(values.rows);
  const { calls, migrations } = await upgradeUnderLoad(rows, console.log);
  const ms = (value: number) => value.toFixed(0);
  console.log(
    `${rows.toLocaleString('en')} rows; ${calls.count} calls meanwhile: p50 ${ms(calls.p50)}, p99 ${ms(calls.p99)}, ` +
      `longest ${ms(calls.most)} ms`,
  );
  for (const { name, seconds } of migrations)
    console.log(`${name}: ${seconds.toFixed(2)} s, ${(seconds / (rows / 1e6)).toFixed(2)} s per million rows`);
}
