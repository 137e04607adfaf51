/**
 * A batch of a million items in a real Postgres: what pages, counts and the next items to begin
 * cost. Prints the table that docs/reports/queries.md has at its end. Takes a minute: `node bench/store/batch.ts`.
 */
import pg from 'pg';
import { migrate } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../../test/servers.ts';
import { aBatch } from '../../test/store/batch_fixture.ts';
import { summary } from '../statistics.ts';

const ITEMS = Number(process.env['ITEMS'] ?? 1_000_000);
const ROUNDS = 100;

const postgres = await startPostgres({ settings: { shared_buffers: '256MB', max_wal_size: '4GB' } });
try {
  await migrate({ url: postgres.url });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const store = await openStore({ url: postgres.url, poolSize: 4, statementTimeoutMs: 60_000 });
  const batch = aBatch(store);
  await store.createBatch(batch, [], { most: { rootUserId: 1, batches: 20, items: ITEMS }, idempotency: null });
  const began = performance.now();
  // A tenth has failed, half has succeeded, the rest waits.
  await client.query(
    `insert into batch_items (batch_id, created_at, n, host, display, plain, ref, sealed, state, code, reason)
      select id, created_at, n, 7, 's3://films/2026/' || n || '.mp4', true, '2026/' || n || '.mp4',
        case when n % 10 > 5 then decode(repeat('ab', 80), 'hex') end,
        case when n % 10 = 0 then 'error' when n % 10 <= 5 then 'success' else 'waiting' end,
        case when n % 10 = 0 then 'http-' || (400 + n / 10 % 20) end, case when n % 10 <= 5 then 'ToolFailed' end
      from batches, generate_series(0, $1 - 1) n where id = $2`,
    [ITEMS, batch.id],
  );
  await client.query('update batches set items = $1, error = $1 / 10, success = $1 / 2, codes = $3 where id = $2', [
    ITEMS,
    batch.id,
    JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`http-${400 + n}`, ITEMS / 200]))),
  ]);
  await client.query('vacuum analyze batch_items');
  console.log(`${ITEMS} items in ${Math.round((performance.now() - began) / 1000)} s`);

  const { id } = batch;
  const at = (): number => Math.floor(Math.random() * ITEMS);
  const CASES: Record<string, () => Promise<unknown>> = {
    'a page of 100 items': () => store.itemsPage({ batch: id, after: at(), limit: 100 }),
    'a page of those that wait': () => store.itemsPage({ batch: id, after: at(), limit: 100, state: 'waiting' }),
    'a page of those with one code': () => store.itemsPage({ batch: id, after: at(), limit: 100, code: 'http-403' }),
    'the batch with its counts': () => store.readBatch(id),
    'all batches that are driven': () => store.drivenBatches(),
    'its errors by code': () => store.batchFound(id),
    'the next 400 items to begin': () => store.claimItems({ batch: id, full: [], after: null, limit: 400 }),
  };
  console.log('| what | p50 ms | p99 ms |\n| --- | --- | --- |');
  for (const [what, work] of Object.entries(CASES)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      await work();
      times.push(performance.now() - start);
    }
    const { p50, p99 } = summary(times);
    console.log(`| ${what} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`);
  }
  await store.close();
  await client.end();
} finally {
  await postgres.stop();
}
