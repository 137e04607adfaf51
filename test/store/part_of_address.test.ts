import assert from 'node:assert/strict';
import pg from 'pg';
import { makeHistory } from '../../bench/store/history.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { startPostgres, type PostgresServer } from '../servers.ts';
import { startStore, type StoreFixture } from './fixture.ts';

const DAY = 86_400_000;
/** Partitions of the log without an index of addresses. */
const WITHOUT = `select inhrelid::regclass::text name from pg_inherits p where inhparent = 'requests'::regclass
  and not exists (select from pg_index i join pg_inherits j on j.inhrelid = i.indexrelid
    where i.indrelid = p.inhrelid and i.indisvalid and j.inhparent = 'requests_address'::regclass) order by 1`;

describe('store: the log by part of an address', function () {
  this.timeout(120_000);

  describe('of a new database', () => {
    let fixture: StoreFixture;
    let client: pg.Client;
    let span: { from: Date; to: Date };
    before(async () => {
      fixture = await startStore();
      client = new pg.Client({ connectionString: fixture.urls.owner });
      await client.connect();
    });
    after(async () => {
      await client.end();
      await fixture.close();
    });

    it('has an index in each partition, also in one that is made later', async () => {
      assert.deepEqual(await fixture.sql(WITHOUT), []);
      const [made] = await fixture.sql<{ made: number }>('select ensure_partitions(4) made');
      assert.equal(made?.made, 2 + 2 + 2 + 14);
      assert.deepEqual(await fixture.sql(WITHOUT), []);
    });

    it('reads the requests that match alone, whatever the length of the period', async () => {
      span = await makeHistory(client, { requests: 24_000, users: 60, months: 5 });
      const to = new Date(span.to.getTime() + 1).toISOString();
      const period = `submitted_at >= '${span.from.toISOString()}' and submitted_at < '${to}'`;
      const { rows } = await client.query<Record<'QUERY PLAN', string>>(
        `explain (analyze, costs off, timing off) select id from requests where ${period}
          and state = any('{success,with-errors,error}') and display ilike '%clip-9777%'
          order by submitted_at desc, id desc limit 11`,
      );
      const text = rows.map((row) => row['QUERY PLAN']).join('\n');
      const removed = [...text.matchAll(/Rows Removed by (?:Filter|Index Recheck): (\d+)/g)];
      assert.ok(removed.reduce((sum, [, count]) => sum + Number(count), 0) < 500, text);
    });

    it('finds what a search without the index finds', async () => {
      const page = (url: string) =>
        fixture.store.listLog({
          filter: {
            owners: { userIds: 'everyone', tokenIds: null },
            period: { from: span.from, to: new Date(span.to.getTime() + DAY) },
            url,
          },
          sort: { field: 'send', order: 'desc' },
          offset: 0,
          limit: 1_000,
        });
      for (const part of ['clip-977', 'CLIP-9777', 'p-9', '%', '_', String.raw`\\`, '-9777.mp4', 'no such clip']) {
        const { rows, total } = await page(part);
        // Neither lower() nor position() uses the index.
        const found = await fixture.sql<{ id: string }>(
          `select id from requests where state <> 'open' and position(lower($1) in lower(display)) > 0
            order by submitted_at desc, id desc`,
          [part],
        );
        assert.equal(total, found.length, part);
        assert.deepEqual(
          rows.map(({ id }) => id),
          found.slice(0, 1_000).map(({ id }) => id),
          part,
        );
      }
    });
  });

  describe('of a database', () => {
    let server: PostgresServer;
    let superuser: pg.Client;
    beforeEach(async () => {
      server = await startPostgres();
      superuser = new pg.Client({ connectionString: server.url });
      await superuser.connect();
      await superuser.query('create role py_owner login');
      await superuser.query('grant create, usage on schema public to py_owner');
    });
    afterEach(async () => {
      await superuser.end();
      await server.stop();
    });
    const migrated = () => migrate({ url: server.url.replace('//probeyard@', '//py_owner@') });
    const withExtension = async () =>
      (await superuser.query("select from pg_extension where extname = 'pg_trgm'")).rowCount;

    it('whose owner may not add extensions, is migrated without it', async () => {
      await migrated();
      assert.equal(await withExtension(), 0);
      assert.equal(
        (await superuser.query("select to_regclass('requests_address') is null as none")).rows[0]?.none,
        true,
      );
    });

    it('that gets the extension later, has the index for each month that it is added to', async () => {
      await migrated();
      // As docs/operating/databases.md says.
      await superuser.query('create extension pg_trgm');
      await superuser.query(
        `create index requests_address on only requests using gin (display gin_trgm_ops)
          with (gin_pending_list_limit = 256) where state <> 'open'`,
      );
      const { rows } = await superuser.query<{ name: string }>(WITHOUT);
      assert.ok(rows.length > 3, `${rows.length} partitions`);
      for (const { name } of rows) {
        await superuser.query(
          `create index concurrently ${name}_address on ${name} using gin (display gin_trgm_ops)
            with (gin_pending_list_limit = 256) where state <> 'open'`,
        );
        await superuser.query(`alter index requests_address attach partition ${name}_address`);
      }
      assert.deepEqual((await superuser.query(WITHOUT)).rows, []);
    });
  });
});
