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
      message: /0001_accounts\.sql differs from the file/,
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

  it('reports that Postgres is unreachable', async () => {
    await assert.rejects(migrate({ url: 'postgres://probeyard@127.0.0.1:1/postgres' }), { code: 'unreachable' });
  });
});
