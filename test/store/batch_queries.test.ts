import assert from 'node:assert/strict';
import pg from 'pg';
import { claimItems, endedItems, itemsPage, runningItems } from '../../src/platform/store/batch_items.ts';
import { batchFound, listBatches, readBatch } from '../../src/platform/store/batches.ts';
import { openDatabase, type Database, type Query } from '../../src/platform/store/connection.ts';
import { aBatch } from './batch_fixture.ts';
import { type StoreFixture, startStore } from './fixture.ts';

const BLOCKED = 100_000;
const OTHERS = 50;
const facets = { container: 'avi' };

describe('store: what queries read of a large batch', function () {
  this.timeout(120_000);
  let fixture: StoreFixture;
  let client: pg.Client;
  let database: Database;
  let id: string;

  // A blocked host, one whose items all wait for another try, one that has ended, and some with little.
  before(async () => {
    fixture = await startStore();
    client = new pg.Client({ connectionString: fixture.server.url });
    await client.connect();
    database = openDatabase({ url: fixture.server.url, poolSize: 2 });
    const batch = aBatch(fixture.store);
    ({ id } = batch);
    const most = { rootUserId: 1, batches: 10, items: 10 };
    await fixture.store.createBatch(batch, [], { most, idempotency: null });
    await client.query(
      `insert into batch_items (batch_id, created_at, n, host, display, state, not_before, code, sealed)
        select b.id, b.created_at, n, case when n < 3 * $2 then n / $2 else n end, 'https://example.org/' || n,
          case when n < 2 * $2 or n >= 3 * $2 then 'waiting' when n % 1000 = 0 then 'error' else 'success' end,
          case when n between $2 and 2 * $2 - 1 then now() + interval '1 hour' else '-infinity' end,
          case when n % 1000 = 0 then 'dns' end, 'sealed'
        from batches b, generate_series(0, 3 * $2 + $3 - 1) n where b.id = $1`,
      [id, BLOCKED, OTHERS],
    );
  });
  after(async () => {
    await database.end();
    await client.end();
    await fixture.close();
  });

  const queriesOf = async (run: (on: Database) => Promise<unknown>): Promise<Query[]> => {
    const sent: Query[] = [];
    const noted = (query: Query): Query => {
      sent.push(query);
      return query;
    };
    await run({
      ...database,
      rows: (query) => database.rows(noted(query)),
      first: (query) => database.first(noted(query)),
    });
    return sent;
  };

  const blocksOf = async ({ text, values }: Query): Promise<number> => {
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>({
      text: `explain (analyze, buffers, format json, timing off) ${text}`,
      values,
    });
    const { Plan: plan } = rows[0]!['QUERY PLAN'][0];
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  };

  /** Blocks: one of an index has some 300 items, one of the table some 80. */
  const CASES: [what: string, most: number, run: (on: Database) => Promise<unknown>][] = [
    ['a claim beside a blocked host', 600, (on) => claimItems(on, { batch: id, full: [0n], after: null, limit: 4 })],
    ['a claim after a host', 600, (on) => claimItems(on, { batch: id, full: [], after: 1n, limit: 4 })],
    ['the first page', 20, (on) => itemsPage(on, { batch: id, after: -1, limit: 100 })],
    ['a page in the middle', 20, (on) => itemsPage(on, { batch: id, after: 250_000, limit: 100 })],
    ['a page of failed items', 150, (on) => itemsPage(on, { batch: id, after: -1, limit: 100, state: 'error' })],
    ['a page of one code', 150, (on) => itemsPage(on, { batch: id, after: -1, limit: 100, code: 'dns' })],
    ['items with a facet that none has', 1_400, (on) => itemsPage(on, { batch: id, after: 9, limit: 100, facets })],
    ['codes and facets', 20, (on) => batchFound(on, id)],
    ['batches with their counts', 20, (on) => listBatches(on, { userId: 1, before: null, limit: 10 })],
    ['a batch with its counts', 20, (on) => readBatch(on, id)],
    ['ends to settle', 20, (on) => endedItems(on, 500)],
    ['what runs', 20, (on) => runningItems(on)],
  ];

  for (const [when, plans] of [
    ['that nobody has analyzed', 'force_custom_plan'],
    ['with statistics', 'force_custom_plan'],
    ['with statistics, by a plan for any values', 'force_generic_plan'],
  ] as const)
    describe(when, () => {
      before(async () => {
        if (when.startsWith('with')) await client.query('analyze batch_items');
        await client.query(`set plan_cache_mode = ${plans}`);
      });
      for (const [what, most, run] of CASES)
        it(`${what}: at most ${most} blocks`, async () => {
          const queries = await queriesOf(run);
          assert.ok(queries.length > 0);
          for (const query of queries) {
            const blocks = await blocksOf(query);
            assert.ok(blocks <= most, `${blocks} blocks`);
          }
        });
    });

  describe('while many items run', () => {
    after(() => client.query('rollback'));

    // To begin workers took 60 ms each time that the driver looked, in place of one.
    it('ends to settle: without workers', async () => {
      const [query] = await queriesOf((on) => endedItems(on, 500));
      await client.query('begin');
      await client.query(
        `update batch_items set state = 'running', request_id = gen_random_uuid(),
            submitted_at = now() + n * interval '1 us'
          where state = 'success' and n % 100 < 5`,
      );
      await client.query(
        `insert into requests (id, submitted_at, token_id, user_id, kind, queue_timeout_ms, timeout_ms, scheme, display,
            tools, request)
          select coalesce(request_id, gen_random_uuid()), now() + n * interval '1 us', 1, 1, 'file', 1, 1, 'https',
            display, '[]', '{}' from batch_items where n >= 2 * $1`,
        [BLOCKED],
      );
      await client.query('analyze batch_items, requests');
      // As of an index from which a million items have gone.
      await client.query('set local min_parallel_index_scan_size = 0; set local enable_memoize = off');
      await client.query('set local plan_cache_mode = force_custom_plan');
      const { rows } = await client.query(`explain ${query!.text}`, [...query!.values!]);
      assert.doesNotMatch(JSON.stringify(rows), /Gather/);
    });
  });
});
