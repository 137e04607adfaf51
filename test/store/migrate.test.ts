import assert from 'node:assert/strict';
import pg from 'pg';
import { migrate, type Migration, readMigrations } from '../../src/platform/store/migrate.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';

describe('store: migrations', function () {
  this.timeout(60_000);
  let server: PostgresServer;
  const names = readMigrations().map((migration) => migration.name);

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  async function freshDatabase(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    return server.url.replace(/postgres$/, name);
  }

  it('applies every migration once', async () => {
    const url = await freshDatabase('twice');
    assert.deepEqual(await migrate({ url }), names);
    assert.deepEqual(await migrate({ url }), []);
  });

  it('two replicas at once apply each migration exactly once', async () => {
    for (let round = 0; round < 3; round++) {
      const url = await freshDatabase(`race${round}`);
      const done = await Promise.all([migrate({ url }), migrate({ url }), migrate({ url })]);
      assert.deepEqual(done.flat().sort(), [...names].sort());
    }
  });

  it('refuses a file that differs from the applied one', async () => {
    const url = await freshDatabase('changed');
    await migrate({ url });
    const changed = readMigrations().map((migration, index): Migration =>
      index === 0 ? { ...migration, sha256: 'other' } : migration,
    );
    await assert.rejects(migrate({ url }, changed), {
      code: 'migration-changed',
      message: /0001_core\.sql differs from the file/,
    });
  });

  it('a failing migration is rolled back, and the ones before it stay', async () => {
    const url = await freshDatabase('failing');
    const bad: Migration = {
      version: 9999,
      name: '9999_bad.sql',
      sha256: 'x',
      sql: 'create table half (id integer); select 1/0',
    };
    await assert.rejects(migrate({ url }, [...readMigrations(), bad]), {
      code: 'migration-failed',
      message: /9999_bad\.sql: division by zero/,
    });
    assert.deepEqual(await migrate({ url }), []);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    assert.deepEqual((await client.query(`select to_regclass('half') half`)).rows, [{ half: null }]);
    await client.end();
  });

  it('an older version starts with a newer schema', async () => {
    const url = await freshDatabase('newer');
    const newer: Migration = { version: 9999, name: 'newer.sql', sha256: 'x', sql: 'create table newer (id integer)' };
    await migrate({ url }, [...readMigrations(), newer]);
    assert.deepEqual(await migrate({ url }), []);
  });

  it('a replica of the previous version still closes requests after the upgrade, once', async () => {
    const url = await freshDatabase('sidebyside');
    await migrate({ url });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`insert into requests (id, submitted_at, token_id, user_id, kind, display, scheme, request,
    tools, queue_timeout_ms, timeout_ms, waiter)
      values ('0190163d-8694-739b-aea5-966c26f8ad91', '2026-11-01', 1, 1, 'file', 'd', 'https', '{}', '[]', 1, 1,
      'api-1')`);
    const close = () =>
      client.query(
        `select closed, waiter from close_request('0190163d-8694-739b-aea5-966c26f8ad91', '2026-11-01', ` +
          `'success', 200, 'Completed', null, 1, '2026-11-01', '[]', null, null, null, 1, 1, null)`,
      );
    assert.deepEqual(
      [(await close()).rows, (await close()).rows],
      [[{ closed: true, waiter: 'api-1' }], [{ closed: false, waiter: 'api-1' }]],
    );
    await client.end();
  });

  it('who wrote policies and retried webhooks before these had permissions of their own still does', async () => {
    const url = await freshDatabase('permissions');
    await migrate(
      { url },
      readMigrations().filter(({ version }) => version < 74),
    );
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const BOTH = ['read:media', 'write:media'];
    const CASES: [permissions: string[], restrictions: string[], after: [string[], string[]]][] = [
      [BOTH, [], [[...BOTH, 'write:policy', 'write:webhook'], []]],
      [['write:media'], [], [['write:media', 'write:policy'], []]],
      [['read:media'], [], [['read:media'], []]],
      [
        BOTH,
        ['write:media'],
        [
          [...BOTH, 'write:policy', 'write:webhook'],
          ['write:media', 'write:policy', 'write:webhook'],
        ],
      ],
      [
        BOTH,
        ['read:media'],
        [
          [...BOTH, 'write:policy', 'write:webhook'],
          ['read:media', 'write:webhook'],
        ],
      ],
    ];
    for (const [permissions, restrictions] of CASES)
      await client.query(
        `insert into users (email, role, status, permissions, restrictions)
          values (gen_random_uuid() || '@example.org', 'user', 'active', $1, $2)`,
        [permissions, restrictions],
      );
    const TOKENS: [before: string[] | null, after: string[] | null, isDefault: boolean][] = [
      [null, null, false],
      [BOTH, [...BOTH, 'write:webhook'], false],
      [['write:media'], ['write:media'], false],
      [BOTH, BOTH, true],
    ];
    for (const [permissions, , isDefault] of TOKENS)
      await client.query('insert into tokens (user_id, permissions, is_default) select min(id), $1, $2 from users', [
        permissions,
        isDefault,
      ]);
    await migrate({ url });
    const users = await client.query<{ it: [string[], string[]] }>(
      'select jsonb_build_array(permissions, restrictions) it from users order by id',
    );
    assert.deepEqual(
      users.rows.map(({ it: found }) => found),
      CASES.map(([, , after]) => after),
    );
    const tokens = await client.query<{ permissions: string[] | null }>('select permissions from tokens order by id');
    assert.deepEqual(
      tokens.rows.map(({ permissions }) => permissions),
      TOKENS.map(([, after]) => after),
    );
    await client.end();
  });

  it('reports that Postgres is unreachable', async () => {
    await assert.rejects(migrate({ url: 'postgres://probeyard@127.0.0.1:1/postgres' }), { code: 'unreachable' });
  });
});
