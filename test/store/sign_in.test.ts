/** Addresses and passwords of a mounted Secret change while connections are made, on the PostgreSQL of the chart. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/platform/store/connection.ts';
import { isStoreError } from '../../src/platform/store/errors.ts';
import { listenTokens } from '../../src/platform/store/listen.ts';
import { setPassword } from '../../src/platform/store/role_password.ts';
import { addresses } from '../../src/platform/store/sign_in.ts';
import { type PostgresImage, startPostgresImage } from '../servers.ts';
import { until } from '../until.ts';

const ROLE = 'probeyard_api';
const PING = { name: 'ping', text: 'select session_user::text as role', values: [] };

describe('store: sign-in with a mounted Secret', function () {
  this.timeout(120_000);
  let image: PostgresImage;
  let folder: string;
  let password: string;
  let count = 0;
  const databases: Database[] = [];

  const urlOf = (given: string, role = ROLE) =>
    `postgres://${role}:${encodeURIComponent(given)}@127.0.0.1:${image.port}/probeyard`;
  const put = (files: Record<string, string | null>): void => {
    for (const [name, content] of Object.entries(files))
      if (content === null) rmSync(join(folder, name));
      else writeFileSync(join(folder, name), content);
  };
  const open = (more: Partial<Parameters<typeof openDatabase>[0]> = {}): Database => {
    const database = openDatabase({ url: '', folder, poolSize: 4, ...more });
    databases.push(database);
    return database;
  };
  const change = async (after: string): Promise<void> => {
    await setPassword([urlOf(password)], after);
    password = after;
  };
  /** Ends every other session of the role, so that each must sign in again. */
  const disconnect = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: urlOf(password) });
    await client.connect();
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where usename = user and pid <> pg_backend_pid()',
    );
    await client.end();
  };

  before(async () => {
    password = 'first';
    image = await startPostgresImage({ probeyard: 'owner', [ROLE]: password, probeyard_api_2: 'second role' });
  });
  after(() => image.stop());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), `probeyard-sign-in-${++count}-`));
    put({ url: urlOf(password) });
  });
  afterEach(async () => {
    await Promise.all(databases.splice(0).map((database) => database.end()));
    rmSync(folder, { recursive: true, force: true });
  });

  it('a password is exchanged under load, without a failed call', async () => {
    const database = open();
    const failures: unknown[] = [];
    let calls = 0;
    const over = new AbortController();
    const worker = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await database.rows(PING).catch((error: unknown) => failures.push(error));
        await database.once(PING).catch((error: unknown) => {
          // A connection that is terminated under a single try, or just before it, fails it: the test does that.
          if (!/terminat|encountered a connection error/i.test(String(error))) failures.push(error);
        });
        calls++;
      }
    };
    const workers = [1, 2, 3, 4].map(worker);
    const more = async (): Promise<void> => {
      const from = calls;
      await disconnect();
      await until('calls go on', () => calls > from + 20);
    };
    const [old, after] = [password, 'second'];
    await more();
    // Steps as those of the rotation; each file may be a step behind the server, and ahead of it.
    put({ 'other-password': after });
    await more();
    await change(after);
    await more();
    put({ url: urlOf(after), 'other-password': old });
    await more();
    put({ 'other-password': null });
    await more();
    over.abort();
    await Promise.all(workers);
    assert.deepEqual(failures, []);
    await assert.rejects(open({ url: urlOf(old), folder: undefined, retryMs: 100 }).rows(PING), {
      code: 'unreachable',
      message: /Postgres refuses this role/,
    });
  });

  it('another role in the address is used by new connections', async () => {
    const database = open();
    assert.deepEqual(await database.rows(PING), [{ role: ROLE }]);
    put({ url: urlOf('second role', 'probeyard_api_2') });
    assert.deepEqual(await database.rows(PING), [{ role: ROLE }]);
    await disconnect();
    assert.deepEqual(await database.rows(PING), [{ role: 'probeyard_api_2' }]);
  });

  it('a password that the server does not have yet counts as a server that is away', async () => {
    const database = open({ retryMs: 30_000, heldMs: 500 });
    put({ url: urlOf('not yet') });
    await assert.rejects(database.rows({ ...PING, held: true }), (error) => isStoreError(error, 'unreachable'));
    const waiting = database.rows(PING);
    await change('not yet');
    assert.deepEqual(await waiting, [{ role: ROLE }]);
  });

  it('notifications arrive again after the password was exchanged', async () => {
    const seen: unknown[] = [];
    const listener = listenTokens({ url: '', folder }, (one) => seen.push(one));
    try {
      await until('it listens', () => listener.listening());
      put({ 'other-password': 'third' });
      await change('third');
      const before = seen.length;
      await disconnect();
      await until('it listens again', () => seen.length > before && listener.listening());
    } finally {
      await listener.stop();
    }
  });

  it('files that cannot be used leave the last address in force, and at the start they are an error', async () => {
    const database = open();
    put({ url: null });
    assert.deepEqual(await database.rows(PING), [{ role: ROLE }]);
    await disconnect();
    assert.deepEqual(await database.rows(PING), [{ role: ROLE }]);
    assert.throws(() => openDatabase({ url: '', folder }), {
      code: 'invalid',
      message: /address of Postgres is missing/,
    });
    put({ url: urlOf(password) });
  });

  it('the order of the addresses', () => {
    const cases: [Record<string, string>, boolean, string[]][] = [
      [{ url: 'postgres://a:b@c/d' }, false, ['postgres://a:b@c/d']],
      [{ url: 'postgres://a:b@c/d\n' }, true, ['postgres://a:b@c/d']],
      [{ url: 'postgres://a:b@c/d', 'direct-url': 'postgres://a:b@e/d' }, true, ['postgres://a:b@e/d']],
      [{ url: 'postgres://a:b@c/d', 'direct-url': 'postgres://a:b@e/d' }, false, ['postgres://a:b@c/d']],
      [
        { url: 'postgres://a:b@c/d?sslmode=require', 'other-password': '@/ä' },
        false,
        ['postgres://a:b@c/d?sslmode=require', 'postgres://a:%40%2F%C3%A4@c/d?sslmode=require'],
      ],
    ];
    for (const [files, direct, expected] of cases) {
      rmSync(folder, { recursive: true, force: true });
      folder = mkdtempSync(join(tmpdir(), `probeyard-sign-in-${++count}-`));
      put(files);
      assert.deepEqual(addresses({ url: 'unread', folder, direct }), expected);
    }
    assert.deepEqual(addresses({ url: 'postgres://x' }), ['postgres://x']);
  });
});
