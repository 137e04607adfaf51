import assert from 'node:assert/strict';
import pg from 'pg';
import { migrate, type Migration, readMigrations } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';
import { until } from '../until.ts';

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

  const later = (sql: string): Migration[] => [
    ...readMigrations(),
    { version: 9999, name: '9999_later.sql', sha256: 'x', sql },
  ];
  async function connected(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, application_name: 'probeyard-backup' });
    await client.connect();
    return client;
  }

  it('a table that is in use: nobody waits behind the migration for long, and it goes on when it can', async () => {
    const url = await freshDatabase('busy');
    await migrate({ url });
    const [reader, other] = await Promise.all([connected(url), connected(url)]);
    await reader.query('begin; select count(*) from users');
    const said: { message: string }[] = [];
    const migrating = migrate({ url }, later('alter table users add column extra text'), (fields, message) =>
      said.push({ message, ...fields }),
    );
    let longest = 0;
    await until('two retries', async () => {
      const begun = performance.now();
      await other.query('select count(*) from users');
      longest = Math.max(longest, performance.now() - begun);
      return said.filter(({ message }) => message === 'a table is in use, will retry').length >= 2;
    });
    await reader.query('commit');
    assert.deepEqual(await migrating, ['9999_later.sql']);
    assert.ok(longest < 1_000, `${longest} ms`);
    assert.match(JSON.stringify(said), /"oldestTransaction":\{"application":"probeyard-backup","seconds":/);
    assert.match(said.at(-1)!.message, /complete/);
    await Promise.all([reader.end(), other.end()]);
  });

  it('a file without a transaction builds an index beside a writer, and is repeated after a failure', async () => {
    const url = await freshDatabase('concurrent');
    await migrate({ url });
    const writer = await connected(url);
    const index =
      '-- no transaction: builds an index\n' +
      'drop index concurrently if exists users_first;\ncreate index concurrently users_first on users (first_name);\n';
    await assert.rejects(migrate({ url }, later(`${index}select 1/0;\n`)), {
      code: 'migration-failed',
      message: /9999_later\.sql: division by zero/,
    });
    await writer.query(`begin; insert into users (email) values ('w@example.org')`);
    const migrating = migrate({ url }, later(index));
    await until(
      'the index',
      async () => (await writer.query(`select to_regclass('users_first') made`)).rows[0].made !== null,
    );
    await writer.query('commit');
    assert.deepEqual(await migrating, ['9999_later.sql']);
    const { rows } = await writer.query(`select indisvalid from pg_index where indexrelid = 'users_first'::regclass`);
    assert.deepEqual(rows, [{ indisvalid: true }]);
    await writer.end();
  });

  it('API and controllers wait for the schema of their version, and say what is missing', async () => {
    const url = await freshDatabase('late');
    const errors: string[] = [];
    const opening = openStore({ url, waitForServer: true, onError: ({ message }) => errors.push(message) });
    const waitsFor = (text: RegExp) => until(`${text}`, () => text.test(errors.at(-1) ?? ''));
    await waitsFor(/0001_accounts\.sql is not applied \(\d+ of \d+ are missing\): see the logs of the job/);
    await migrate({ url }, readMigrations().slice(0, -1));
    await waitsFor(new RegExp(`${names.at(-1)} is not applied \\(1 of`));
    await migrate({ url });
    await (await opening).close();
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
