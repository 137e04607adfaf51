import assert from 'node:assert/strict';
import pg from 'pg';
import { migrate } from '../../src/platform/store/migrate.ts';
import { RIGHTS } from '../../src/platform/store/roles.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../servers.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

/** Tables that API and controllers use only through functions of the owner. */
const OWNERS_OWN = ['schema_migrations', 'erased'];

describe('store: database roles', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  async function as(role: 'owner' | 'api' | 'controller', sql: string, values: unknown[] = []): Promise<string> {
    const client = new pg.Client({ connectionString: fixture.urls[role] });
    await client.connect();
    try {
      await client.query('begin');
      await client.query(sql, values);
      return 'done';
    } catch (error) {
      return (error as Error).message;
    } finally {
      await client.end();
    }
  }

  for (const [role, what, sql] of [
    ['api', 'drop a table', 'drop table users'],
    ['api', 'truncate a table', 'truncate requests'],
    ['api', 'create a table', 'create table mine (i int)'],
    ['api', 'run a program', `copy (select 1) to program 'cat'`],
    ['api', 'read a file', `select pg_read_file('/etc/passwd')`],
    ['api', 'create a role', 'create role other'],
    ['api', 'delete results', 'delete from envelopes'],
    ['api', 'change results', `update envelopes set body = ''`],
    ['api', 'delete usage', 'delete from usage_minute'],
    ['api', 'change statistics', 'update rollup_day set requests = 0'],
    ['api', 'delete tokens', 'delete from tokens'],
    ['api', 'change settings', `update settings set value = '1'`],
    ['api', 'change the audit log', `update audit set outcome = 'done'`],
    ['api', 'delete from the audit log', 'delete from audit'],
    ['api', 'call retention of the audit log', 'select forget_audit(now())'],
    ['api', 'call retention', `select drop_months('requests', now())`],
    ['api', 'call retention of results', 'select drop_envelopes(now())'],
    ['api', 'create partitions', 'select ensure_partitions()'],
    ['api', 'drop a partition', `select drop_partition('requests_default')`],
    ['api', 'delete batches', 'delete from batches'],
    ['api', 'delete items of batches', 'delete from batch_items'],
    ['api', 'add a driver of batches', 'insert into batch_driver (only_one) values (null)'],
    ['api', 'disguise a migration', 'update schema_migrations set version = 1'],
    ['controller', 'drop a table', 'drop table users'],
    ['controller', 'create a table', 'create table mine (i int)'],
    ['controller', 'run a program', `copy (select 1) to program 'cat'`],
    ['controller', 'read passwords', 'select password_hash from users'],
    ['controller', 'read e-mail addresses', 'select email from users'],
    ['controller', 'read sealed tokens', 'select sealed from tokens'],
    ['controller', 'read webhook secrets', 'select webhook_secret from tokens'],
    ['controller', 'read sessions', 'select * from sessions'],
    ['controller', 'read signing keys', 'select * from signing_keys'],
    ['controller', 'read keys of batches', 'select sealed_key from batches'],
    ['controller', 'read addresses of batches', 'select sealed from batch_items'],
    ['controller', 'change items of batches', `update batch_items set state = 'waiting'`],
    ['controller', 'read outgoing mail', 'select * from mails'],
    ['controller', 'grant a permission', `update users set role = 'root'`],
    ['controller', 'create a token', `insert into tokens (user_id) values (1)`],
    ['controller', 'delete a user', 'select erase_user(1)'],
    ['controller', 'drop any table as a partition', `select drop_partition('users')`],
    ['controller', 'read the audit log', 'select * from audit'],
    ['controller', 'delete from the audit log', 'delete from audit'],
    ['controller', 'disguise a migration', `update settings set value = '[]' where key = 'schema.applied'`],
    ['controller', 'change a webhook', `update webhook_outbox set url = 'https://elsewhere'`],
  ] as const) {
    it(`the ${role} role cannot ${what}`, async () =>
      assert.match(await as(role, sql), /permission denied|must be owner|superuser/));
  }

  it('the owner is not a superuser', async () => {
    assert.match(await as('owner', `copy (select 1) to program 'cat'`), /superuser|permission denied to COPY/);
    assert.equal(await as('owner', 'drop table mails'), 'done');
  });

  it('controllers may make every call that they share with the API', async () => {
    const store = await openStore({ url: fixture.urls.controller });
    try {
      const open = anOpenInput(store, {
        webhookUrl: 'https://example.org/hook',
        requestsPerMinute: 100,
        idempotency: { key: 'k', bodySha256: Buffer.alloc(32) },
      });
      assert.equal((await store.openRequest(open)).outcome, 'opened');
      assert.equal(
        (
          await store.openRequest(
            anOpenInput(store, {
              quotas: { of: [{ scope: 'account', limits: { 'request-count': 0 } }], rootUserId: 1 },
            }),
          )
        ).outcome,
        'over-quota',
      );
      assert.equal((await store.closeRequest(aCloseInput(open))).closed, true);
      assert.equal((await store.endsFor([open.id])).length, 1);
      assert.equal((await store.endsFor([open.id])).length, 1);
      assert.ok(await store.readBody(open.id, open.submittedAt));
      assert.ok(await store.installId());
      assert.equal(await store.healthy(), true);
    } finally {
      await store.close();
    }
  });

  it("every table is granted to a role or listed as the owner's", async () => {
    const tables = await fixture.sql<{ name: string }>(
      `select relname name from pg_class where relnamespace = 'public'::regnamespace ` +
        `and relkind in ('r', 'p') and not relispartition order by 1`,
    );
    const known = new Set([
      ...OWNERS_OWN,
      ...Object.values(RIGHTS).flatMap(({ tables: given, hidden }) => [...Object.keys(given), ...Object.keys(hidden)]),
    ]);
    assert.deepEqual(
      tables.map(({ name }) => name).filter((name) => !known.has(name)),
      [],
      'give them to API or controller in src/platform/store/roles.ts',
    );
  });

  it('functions that run as the owner have a fixed search path, and are not granted to public', async () => {
    const functions = await fixture.sql<{ name: string; config: string[]; open: boolean }>(
      'select oid::regprocedure::text name, proconfig config, ' +
        `has_function_privilege('public', oid, 'execute') as open from pg_proc where ` +
        'prosecdef order by 1',
    );
    assert.deepEqual(
      functions.map(({ name }) => name.split('(')[0]),
      [
        'drop_envelopes',
        'drop_months',
        'drop_partition',
        'drop_source_listing',
        'ensure_partitions',
        'erase_request',
        'erase_step',
        'erase_user',
        'forget_audit',
        'open_of_chunk',
        'return_items',
      ],
    );
    for (const { name, config, open } of functions)
      assert.deepEqual([config, open], [['search_path=public, pg_temp'], false], name);
  });

  it('migrating again grants only missing rights, and revokes none', async () => {
    const roles = { api: 'py_api', controller: 'py_controller' };
    await fixture.sql('grant select on table schema_migrations to py_api');
    await fixture.sql('revoke select on table settings from py_api');
    const versions = () =>
      fixture.sql<{ name: string; xmin: string }>(
        'select relname name, xmin::text from pg_class where relnamespace = ' +
          `'public'::regnamespace and relkind in ('r', 'p') order by 1`,
      );
    const before = await versions();
    await migrate({ url: fixture.urls.owner, roles });
    const changed = (await versions())
      .filter(({ name, xmin }) => before.find((one) => one.name === name)?.xmin !== xmin)
      .map(({ name }) => name);
    assert.deepEqual(changed, ['settings']);
    assert.equal(await as('api', 'select * from settings, schema_migrations'), 'done');
  });

  it('one role for all parts keeps working, and a missing role is named in the error', async () => {
    const server = await startPostgres();
    try {
      await migrate({ url: server.url, roles: { api: 'probeyard', controller: 'probeyard' } });
      const store = await openStore({ url: server.url });
      const open = anOpenInput(store);
      await store.openRequest(open);
      assert.equal((await store.closeRequest(aCloseInput(open))).closed, true);
      await store.ensurePartitions();
      await store.close();
      await assert.rejects(migrate({ url: server.url, roles: { api: 'nobody', controller: 'probeyard' } }), {
        code: 'not-ready',
        message: /no role nobody, which the api signs in as/,
      });
    } finally {
      await server.stop();
    }
  });
});
