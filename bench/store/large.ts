/**
 * `make bench-store`: ten million requests of two years and a thousand users in a separate Postgres. Every statistics
 * call and every kind of log page, against a read by primary key in the same run. Writes docs/reports/queries.md with
 * the figures and the plan of each kind of query. Takes ten minutes on a machine at rest, and 18 GB of disk while it
 * runs. `--url` measures an existing database.
 */
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../../src/platform/store/connection.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../../test/servers.ts';
import { assertEqualsRecount } from '../../test/store/recount.ts';
import { summary } from '../statistics.ts';
import { logCases, statisticsCases, type Case } from './cases.ts';
import { makeHistory } from './history.ts';
import { explained } from './plans.ts';

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000000' },
    users: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '100' },
    url: { type: 'string' },
    write: { type: 'string', default: join(import.meta.dirname, '../../docs/reports/queries.md') },
  },
});
const requests = Number(options.requests);
const users = Number(options.users);
const rounds = Number(options.rounds);
const BYTES_PER_REQUEST = 2_000;
const AIM_MS = 50;
const ENOUGH_MS = Number(process.env['ENOUGH_MS'] ?? 8_000);
const WHY = [
  'An answer grows with its buckets. Two years have 17,520 hours, and 31 days have 44,640 minutes; a constant user',
  'gets most of them (2.5 MB of JSON for two years of hours). Up to some hundred buckets are a few rows of the daily',
  'rollups.',
  '',
  'Pages of the log that are filtered by users, tokens, kinds and ends, and sorted by time or by end, are read from',
  'the days that hold them, which the rollups tell. A part of an address is found by its trigrams, where Postgres has',
  'pg_trgm. No rollup and no index knows the ends of single tools and the order of addresses: such a page reads every',
  'request of its users and its time, and their number too. What takes longer than 10 s so is answered with 400, which',
  'says to name a shorter time.',
].join('\n');
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Also written before the plans, which take a while. */
function written(lines: readonly string[]): void {
  const text = lines.join('\n\n');
  const before = options.write && existsSync(options.write) ? readFileSync(options.write, 'utf8') : '';
  // The part of batch.ts.
  const [batch = ''] = /\n## A batch of a million items\n[^]*$/.exec(before) ?? [];
  if (options.write)
    writeFileSync(
      options.write,
      `# Queries\n\n${requests.toLocaleString('en')} requests of two years and ` +
        `${users.toLocaleString('en')} users; ${new Date().toISOString().slice(0, 10)}. Made by ` +
        `\`make bench-store\`. Postgres has 256 MB of shared buffers and its default of everything ` +
        `else; the rest of the files' cache is the system's. Users are of very different size: the ` +
        `largest has a tenth of all requests, the smallest 0.03 %.\n\n${WHY}\n\n${text}\n${batch}`,
    );
}

async function measure(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const store = await openStore({ url, poolSize: 4, statementTimeoutMs: 60_000 });
  const {
    rows: [span],
  } = await client.query<{
    from: Date;
    to: Date;
    largest: number;
    first: number;
  }>(`select (select min(submitted_at) from requests) "from", (select max(submitted_at) from requests) "to", (select
  min(id)::integer from users) first,
    (select user_id::integer from (select user_id, sum(requests) n from rollup_day where user_id <> 0 group by 1 order
    by 2 desc limit 1) s) largest`);
  const { from, to, largest, first } = span!;
  const { rows: samples } = await client.query<{ id: string; submitted_at: Date }>(
    `select id, submitted_at from requests tablesample system (${Math.min(100, 500_000 / requests)}) limit 5000`,
  );
  let next = 0;
  const byKey = () => {
    const one = samples[next++ % samples.length]!;
    return client.query({
      name: 'by_key',
      text: 'select * from requests where id = $1 and submitted_at = $2',
      values: [one.id, one.submitted_at],
    });
  };
  const anyUser = () => first + Math.floor(Math.random() * users);

  say('a sample of the figures is counted again');
  for (const statistic of ['usage', 'queue', 'requests', 'sources'] as const) {
    for (const days of [1, 40, 200])
      await assertEqualsRecount(store, client, {
        statistic,
        aggregation: days === 1 ? 'minutely' : 'daily',
        from: new Date(to.getTime() - (days + 300) * 86_400_000 + 777),
        to: new Date(to.getTime() - 300 * 86_400_000 + 5),
        userIds: [anyUser(), anyUser()],
      });
  }

  const cases = [...statisticsCases(to), ...logCases(from, to, requests, users)];
  const lines: string[] = [];
  const all: { of: Case; p50: number; p99: number }[] = [];
  const keys: number[] = [];
  for (let warm = 0; warm < 200; warm++) await byKey();
  for (const of of cases) {
    const times: number[] = [];
    const count = of.whose === 'any' ? rounds : Math.max(10, Math.floor(rounds / 5));
    const user = () => (of.whose === 'any' ? anyUser() : largest);
    await of.run(store, user());
    // Queries that take seconds need only a few rounds.
    const enough = performance.now() + ENOUGH_MS;
    for (let round = 0; round < count && (round < 3 || performance.now() < enough); round++) {
      keys.push(await timed(byKey));
      times.push(await timed(() => of.run(store, user())));
    }
    const { p50, p99 } = summary(times);
    all.push({ of, p50, p99 });
    say(`${of.group}: ${of.what} (${of.whose}): p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`);
  }
  const key = summary(keys);
  const row = ({ of, p50, p99 }: (typeof all)[number]) =>
    `| ${of.what} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${(p50 / key.p50).toFixed(1)} × ` +
    `| ${(p99 / key.p99).toFixed(1)} × | ${p99 <= AIM_MS ? 'yes' : 'NO'} |`;
  const HEAD =
    '| what | p50 ms | p99 ms | p50 to a read by key | p99 to its p99 | p99 ' +
    'within 50 ms |\n| --- | --- | --- | --- | --- | --- |';
  const WHOSE = {
    any: 'of any user',
    largest: 'of the largest user, who has a tenth of all',
    everyone: 'of everybody, for an administrator',
  } as const;
  const load = loadavg().map((value) => value.toFixed(1));
  lines.push(
    `A read by primary key in the same run: p50 ${key.p50.toFixed(2)} ms, p99 ${key.p99.toFixed(2)} ms ` +
      `(n = ${key.count}). Load of the machine: ${load.join(' ')}.`,
  );
  for (const group of ['statistics', 'log'] as const) {
    for (const whose of ['any', 'largest', 'everyone'] as const) {
      const these = all.filter(({ of }) => of.group === group && of.whose === whose);
      if (these.length === 0) continue;
      lines.push(
        `### ${group === 'log' ? 'Log' : 'Statistics'} ` +
          `${WHOSE[whose]}\n\n${these.filter(({ p99 }) => p99 <= AIM_MS).length} of ${these.length} within ` +
          `${AIM_MS} ms.\n\n${HEAD}\n${these.map(row).join('\n')}`,
      );
    }
  }
  written(lines);
  const database = openDatabase({ url, poolSize: 4, statementTimeoutMs: 60_000 });
  lines.push('## Plans', ...(await explained(client, database, cases, first + Math.floor(users / 2), largest)));
  const { rows: sizes } = await client.query<{ name: string; size: string }>(
    `select case when relname ~ '^requests' then 'requests' else relname end as name, ` +
      'pg_size_pretty(sum(pg_total_relation_size(oid))) size from pg_class where relkind = ' +
      `'r' and relname ~ '^(requests|rollup_)' group by 1 order by 1`,
  );
  lines.splice(1, 0, `On disk: ${sizes.map(({ name, size }) => `${name} ${size}`).join(', ')}, with their indexes.`);
  await database.end();
  await store.close();
  await client.end();
  return lines.join('\n\n');
}

async function main(): Promise<void> {
  if (options.url === undefined) {
    const { bavail, bsize } = statfsSync(tmpdir());
    if (bavail * bsize < requests * BYTES_PER_REQUEST)
      throw new Error(
        `${tmpdir()} has ${Math.floor((bavail * bsize) / 1e9)} GB left, ` +
          `${Math.ceil((requests * BYTES_PER_REQUEST) / 1e9)} are needed`,
      );
  }
  const server = options.url === undefined ? await startPostgres({ settings: { shared_buffers: '256MB' } }) : undefined;
  try {
    const url = options.url ?? server!.url;
    if (server) {
      await migrate({ url });
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      // For the generating session only. The measured ones have the server's defaults.
      await client.query(`set work_mem = '64MB'; set maintenance_work_mem = '256MB'`);
      await makeHistory(client, { requests, users, months: 24 }, say);
      await client.end();
    }
    written([await measure(url)]);
  } finally {
    await server?.stop();
  }
}
await main();
