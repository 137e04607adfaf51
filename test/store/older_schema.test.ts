/** The schema of the version before, with data, under the migrations of today: what it uses is still there. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { migrate, readMigrations } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';

/** The last migration of the version before. Before a second version is released, it is the last one of the first. */
const LAST = 7;

/** Tables and their columns, with types, without parts of a table; functions with arguments and results. */
const CATALOG = `
  select 'column ' || table_name || '.' || column_name as name, data_type as type,
    is_nullable = 'YES' or column_default is not null or is_identity = 'YES' as optional
    from information_schema.columns c where table_schema = 'public'
      and not exists (select from pg_class p where p.relname = c.table_name and p.relispartition)
  union all select 'function ' || p.oid::regprocedure, pg_get_function_result(p.oid), true
    from pg_proc p where pronamespace = 'public'::regnamespace and prokind = 'f'`;

interface Entry {
  name: string;
  type: string;
  optional: boolean;
}

const lost = (older: Entry[], newer: Entry[]): Entry[] => {
  const now = new Map(newer.map(({ name, type }) => [name, type]));
  return older.filter(({ name, type }) => now.get(name) !== type);
};

describe('store: the schema of the version before', function () {
  this.timeout(60_000);
  let server: PostgresServer;
  let client: pg.Client;
  let older: Entry[];
  let newer: Entry[];
  const migrations = readMigrations().filter(({ version }) => version <= LAST);
  const id = '0190163d-8694-739b-aea5-966c26f8ad91';

  before(async () => {
    server = await startPostgres();
    await migrate({ url: server.url }, migrations);
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
    older = (await client.query<Entry>(CATALOG)).rows;
    await client.query(
      `insert into requests (id, submitted_at, token_id, user_id, kind, display, scheme, request, tools,
        queue_timeout_ms, timeout_ms, waiter)
        values ($1, '2026-11-01', 1, 1, 'file', 'd', 'https', '{}', '[]', 1, 1, 'api-1')`,
      [id],
    );
    await migrate({ url: server.url });
    newer = (await client.query<Entry>(CATALOG)).rows;
  });
  after(async () => {
    await client.end();
    await server.stop();
  });

  it('no table, column, type or function of it is gone', () => {
    assert.ok(older.length > 100, `${older.length} columns and functions`);
    assert.deepEqual(lost(older, newer), []);
  });

  for (const [what, sql] of [
    ['drops a column', 'alter table users drop column first_name'],
    ['renames a column', 'alter table users rename first_name to given_name'],
    ['renames a table', 'alter table mails rename to letters'],
    ['changes the type of a column', 'alter table requests alter status type integer'],
    ['drops a function', 'drop function month_usage(bigint[], bigint, timestamptz)'],
  ] as const)
    it(`a migration that ${what} is refused here`, async () => {
      await client.query('begin');
      try {
        await client.query(sql);
        assert.ok(lost(older, (await client.query<Entry>(CATALOG)).rows).length > 0);
      } finally {
        await client.query('rollback');
      }
    });

  it('its inserts succeed: each column that was added to its tables may be left out', () => {
    const tableOf = ({ name }: Entry) => name.split('.')[0];
    const tables = new Set(older.map(tableOf));
    const known = new Set(older.map(({ name }) => name));
    const added = newer.filter((entry) => tables.has(tableOf(entry)) && !known.has(entry.name));
    assert.deepEqual(
      added.filter(({ optional }) => !optional),
      [],
    );
  });

  it('a request that it opened is ended by this version', async () => {
    const store = await openStore({ url: server.url });
    try {
      const close = {
        id,
        submittedAt: new Date('2026-11-01T00:00:00Z'),
        state: 'success',
        status: 200,
        reason: 'Completed',
        error: null,
        attempt: 1,
        startedAt: new Date('2026-11-01T00:00:00Z'),
        tools: [],
        ioBytes: 1,
        body: null,
      } as const;
      assert.equal((await store.closeRequest(close as never)).closed, true);
      assert.equal((await store.closeRequest(close as never)).closed, false);
    } finally {
      await store.close();
    }
  });
});
