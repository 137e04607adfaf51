/** A real PgBouncer in transaction mode between the store and PostgreSQL. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { bootstrapAdmin } from '../../src/platform/store/admin.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { isStoreError } from '../../src/platform/store/errors.ts';
import { openStore, type Store, type StoreSettings } from '../../src/platform/store/store.ts';
import { until } from '../until.ts';
import { ADMIN, aCloseInput, anOpenInput, startStore, type StoreFixture } from './fixture.ts';
import { fetchPgbouncer, startPgbouncer, type Pgbouncer } from './pgbouncer.ts';

describe('store: behind PgBouncer in transaction mode', function () {
  this.timeout(400_000);
  let fixture: StoreFixture;
  let bouncer: Pgbouncer;
  const stores: Store[] = [];

  before(async function () {
    try {
      await fetchPgbouncer();
    } catch (error) {
      console.log(`      skipped, because apt cannot fetch pgbouncer: ${(error as Error).message.split('\n')[0]}`);
      this.skip();
    }
    fixture = await startStore({ alone: true });
    bouncer = await startPgbouncer(fixture.server.port);
    console.log(`      PgBouncer ${bouncer.version}`);
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await bouncer?.stop();
    await fixture?.close();
  });

  const open = async (settings: Partial<StoreSettings> = {}): Promise<Store> => {
    const store = await openStore({
      url: bouncer.url,
      directUrl: fixture.server.url,
      prepared: false,
      poolSize: 8,
      ...settings,
    });
    stores.push(store);
    return store;
  };
  const tracksStatements = (): boolean => {
    const [major = 0, minor = 0] = bouncer.version.split('.').map(Number);
    return major > 1 || minor >= 21;
  };
  const counted = async (tokenId: number) =>
    (
      await fixture.sql(
        `select count(*)::integer requests, count(*) filter (where state = 'open')::integer open,
          (select sum(requests)::integer from usage_minute where token_id = $1) used
          from requests where token_id = $1`,
        [tokenId],
      )
    )[0];

  it('start-up parameters are refused unless PgBouncer ignores them', async () => {
    const strict = await startPgbouncer(fixture.server.port, { ignore_startup_parameters: '' });
    try {
      await assert.rejects(openStore({ url: strict.url, retryMs: 200 }), /unsupported startup parameter/);
    } finally {
      await strict.stop();
    }
  });

  it('the migration runs over the direct address, because its lock belongs to a session', async () => {
    assert.deepEqual(await migrate({ url: fixture.urls.owner }), []);
  });

  it('without names of statements, many callers share two sessions of the server', async () => {
    const store = await open();
    const worker = async () => {
      for (let count = 0; count < 25; count++) {
        const input = anOpenInput(store, { tokenId: 8_001 });
        assert.equal((await store.openRequest(input)).outcome, 'opened');
        assert.equal((await store.closeRequest(aCloseInput(input))).closed, true);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    assert.deepEqual(await counted(8_001), { requests: 200, open: 0, used: 200 });
  });

  it('the administrator is made without names of statements', async () => {
    const settings = tracksStatements() ? { max_prepared_statements: '0' } : {};
    const untracked = await startPgbouncer(fixture.server.port, settings);
    try {
      for (let time = 0; time < 3; time++) await bootstrapAdmin({ url: untracked.url }, ADMIN);
    } finally {
      await untracked.stop();
    }
  });

  it('with names, a version that does not track them answers with errors', async () => {
    if (tracksStatements()) {
      console.log(`      PgBouncer ${bouncer.version} tracks prepared statements`);
      return;
    }
    const named = await openStore({ url: bouncer.url, directUrl: fixture.server.url, poolSize: 8 }).catch(
      (error: unknown) => error,
    );
    if (named instanceof Error) {
      assert.ok(isStoreError(named, 'query-failed'), String(named));
      return;
    }
    const store = named as Store;
    stores.push(store);
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => store.openRequest(anOpenInput(store))));
    assert.ok(
      results.some((one) => one.status === 'rejected' && /prepared statement/.test(String(one.reason))),
      'prepared statements worked, so the setting preparedStatements is not needed',
    );
  });

  it('notifications arrive over the direct address, and would not through the pooler', async () => {
    const store = await open();
    const changes: unknown[] = [];
    const listener = store.listenTokens((change) => changes.push(change));
    await until('it listens', () => listener.listening());
    await until('the first look is over', () => changes.length > 0);
    changes.length = 0;
    await fixture.sql(`select pg_notify('py_tokens', '{"all": true}')`);
    await until('a notification has arrived', () => changes.length > 0);
    const pooled = new pg.Client({ connectionString: bouncer.url });
    await pooled.connect();
    let heard = 0;
    pooled.on('notification', () => heard++);
    await pooled.query('listen py_tokens');
    await fixture.sql(`select pg_notify('py_tokens', '{"all": true}')`);
    await until('the other listener has heard it', () => changes.length > 1);
    assert.equal(heard, 0);
    await pooled.end();
  });

  it('a restart of the server behind it loses no call and doubles none', async () => {
    const store = await open({ retryMs: 20_000, heldMs: 20_000 });
    const load = { over: false };
    let closed = 0;
    const worker = async () => {
      while (!load.over) {
        const input = anOpenInput(store, { tokenId: 8_002 });
        await store.openRequest(input);
        await store.closeRequest(aCloseInput(input));
        closed++;
      }
    };
    const working = Promise.all(Array.from({ length: 6 }, worker));
    await until('calls are under way', () => closed > 20);
    await fixture.server.restart('immediate');
    const before = closed;
    await until('calls go on', () => closed > before + 20, 30_000);
    load.over = true;
    await working;
    assert.deepEqual(await counted(8_002), { requests: closed, open: 0, used: closed });
  });
});
