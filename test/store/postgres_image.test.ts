import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/platform/store/migrate.ts';
import { type PostgresImage, startPostgresImage } from '../servers.ts';

const PASSWORDS = { probeyard: 'own\'er"', probeyard_api: 'api', probeyard_controller: 'controller' };

describe('PostgreSQL image', function () {
  this.timeout(300_000);
  let image: PostgresImage | undefined;
  afterEach(async () => {
    await image?.stop();
    image = undefined;
  });

  const urlOf = (role: string, password: string) =>
    `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${image!.port}/probeyard`;
  async function as(
    role: keyof typeof PASSWORDS | 'postgres',
    sql: string,
    password: string = (PASSWORDS as Record<string, string>)[role] ?? '',
  ): Promise<unknown[] | string> {
    const client = new pg.Client({ connectionString: urlOf(role, password) });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await client.end().catch(() => {});
    }
  }

  it('creates an owner and two roles without superuser, and applies a new password at the next start', async () => {
    image = await startPostgresImage(PASSWORDS);
    assert.deepEqual(
      await as(
        'probeyard',
        'select rolname, rolsuper or rolcreaterole or rolcreatedb or rolreplication or ' +
          'rolbypassrls as more from pg_roles where rolcanlogin order by 1',
      ),
      [
        { rolname: 'postgres', more: true },
        { rolname: 'probeyard', more: false },
        { rolname: 'probeyard_api', more: false },
        { rolname: 'probeyard_controller', more: false },
      ],
    );
    assert.match(String(await as('postgres', 'select 1')), /reject/);
    await migrate({ url: urlOf('probeyard', PASSWORDS.probeyard) });
    for (const role of ['probeyard', 'probeyard_api', 'probeyard_controller'] as const) {
      assert.match(String(await as(role, `copy (select 1) to program 'cat'`)), /superuser|permission denied/, role);
      assert.match(String(await as(role, `select pg_read_file('/etc/passwd')`)), /permission denied/, role);
      assert.match(String(await as(role, 'create role other superuser')), /superuser|permission denied/, role);
    }
    for (const role of ['probeyard_api', 'probeyard_controller'] as const) {
      for (const sql of [
        'create table mine (i int)',
        'create temporary table mine (i int)',
        'drop table users',
        'truncate requests',
      ])
        assert.match(String(await as(role, sql)), /permission denied|must be owner/, `${role}: ${sql}`);
    }

    await image.restart({ probeyard_api: 'changed' });
    assert.match(String(await as('probeyard_api', 'select 1')), /password authentication failed/);
    assert.deepEqual(await as('probeyard_api', 'select 1 one', 'changed'), [{ one: 1 }]);
    assert.deepEqual(await as('probeyard', 'select 1 one'), [{ one: 1 }]);
  });

  it('starts on data that the kubelet has made writable for the group', async () => {
    image = await startPostgresImage(PASSWORDS);
    const folder = image.data;
    // As fsGroup does: the group may write, and new files belong to it.
    chmodSync(folder, 0o2770);
    await image.restart();
    assert.deepEqual(await as('probeyard', 'select 1 one'), [{ one: 1 }]);
    assert.equal(statSync(folder).mode & 0o027, 0);
  });

  it('does not start where a role cannot be brought up to date', async () => {
    image = await startPostgresImage(PASSWORDS);
    await assert.rejects(image.restart({ probeyard_api: '' }), /it exited with 1/);
    await image.restart({ probeyard_api: 'given' });
    assert.deepEqual(await as('probeyard_api', 'select 1 one', 'given'), [{ one: 1 }]);
  });

  it('psql in its container connects to the socket of the server', () => {
    const read = (name: string) =>
      readFileSync(join(import.meta.dirname, '..', '..', 'images', 'postgres', name), 'utf8');
    const socket = /unix_socket_directories=(\S+)/.exec(read('entrypoint.sh'))?.[1];
    assert.equal(/PGHOST=(\S+)/.exec(read('Dockerfile'))?.[1], socket);
  });
});
