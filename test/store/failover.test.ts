/** A primary with a synchronous standby, behind one address, as the service of an operator or a virtual address is. */
import assert from 'node:assert/strict';
import { isStoreError } from '../../src/platform/store/errors.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import type { PostgresServer } from '../servers.ts';
import { until } from '../until.ts';
import { aCloseInput, anOpenInput } from './fixture.ts';
import { type Address, type Pair, sql, startAddress, startPair } from './pair.ts';

describe('store: failover of Postgres', function () {
  this.timeout(120_000);
  let pair: Pair;
  let primary: PostgresServer;
  let standby: PostgresServer;
  let address: Address;
  let url: string;
  const stores: Store[] = [];

  before(async () => {
    pair = await startPair();
    ({ primary, standby } = pair);
    await migrate({ url: primary.url });
    address = await startAddress(primary.port);
    url = `postgres://probeyard@127.0.0.1:${address.port}/postgres`;
  });
  after(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await address.close();
    await pair.stop();
  });

  const open = async (settings: Partial<Parameters<typeof openStore>[0]> = {}): Promise<Store> => {
    const store = await openStore({ url, ...settings });
    stores.push(store);
    return store;
  };

  it('an address that leads to a standby counts as unreachable, never as a failed query', async () => {
    address.leadTo(standby.port);
    await assert.rejects(openStore({ url, retryMs: 300 }), { name: 'StoreError', code: 'unreachable' });
    await assert.rejects(openStore({ url: standby.url, retryMs: 300 }), { name: 'StoreError', code: 'unreachable' });
    address.leadTo(primary.port);
    const store = await open({ retryMs: 300 });
    assert.equal(await store.healthy(), true);
  });

  it('a primary that is made read-only counts as unreachable, until it is writable again', async () => {
    const store = await open({ retryMs: 300, heldMs: 600 });
    await sql(primary, 'alter system set default_transaction_read_only = on');
    await sql(primary, 'select pg_reload_conf()');
    await until('writes are refused', async () => {
      const error: unknown = await store.openRequest(anOpenInput(store)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error !== undefined) assert.ok(isStoreError(error, 'unreachable'), String(error));
      return error !== undefined;
    });
    const writable = { ...primary, url: `${primary.url}?options=-c%20default_transaction_read_only%3Doff` };
    await sql(writable, 'alter system reset default_transaction_read_only');
    await sql(writable, 'select pg_reload_conf()');
    await until('writes are accepted', () => store.openRequest(anOpenInput(store)).then(() => true));
  });

  it('the primary is killed under writes and the standby promoted: nothing answered is lost or doubled', async () => {
    const tokenId = 7_001;
    const store = await open();
    const changes: unknown[] = [];
    const listener = store.listenTokens((change) => changes.push(change));
    await until('notifications arrive', () => listener.listening());
    const load = { over: false };
    let closed = 0;
    let refused = 0;
    const answeredAt: number[] = [];
    // As a caller who was told 503: the same request again.
    const insist = async <T>(call: () => Promise<T>): Promise<T> => {
      for (;;) {
        try {
          const answer = await call();
          answeredAt.push(performance.now());
          return answer;
        } catch (error) {
          if (!isStoreError(error, 'unreachable', 'timeout')) throw error;
          refused++;
        }
      }
    };
    const worker = async () => {
      for (let count = 0; !load.over || count < 5; count++) {
        const input = anOpenInput(store, { tokenId });
        assert.equal((await insist(() => store.openRequest(input))).outcome, 'opened');
        await insist(() => store.closeRequest(aCloseInput(input)));
        closed++;
      }
    };
    const working = Promise.all(Array.from({ length: 6 }, worker));
    await until('calls are under way', () => closed > 30);
    await primary.kill();
    // The address is sometimes faster than the promotion.
    address.leadTo(standby.port);
    await until(
      'the calls meet the standby',
      () => answeredAt.length > 0 && performance.now() - answeredAt.at(-1)! > 500,
    );
    await sql(standby, 'select pg_promote()');
    const before = closed;
    await until('calls go on', () => closed > before + 30, 30_000);
    load.over = true;
    await working;
    const gap = answeredAt.reduce((most, at, i) => Math.max(most, i === 0 ? 0 : at - answeredAt[i - 1]!), 0);
    console.log(
      `      ${closed} requests, ${refused} calls refused, longest time without an answer ${Math.round(gap)} ms`,
    );
    assert.deepEqual(
      await sql(
        standby,
        `select count(*)::integer requests, count(*) filter (where state = 'open')::integer open,
          (select sum(requests)::integer from usage_minute where token_id = $1) used,
          (select count(*)::integer from envelopes e join requests r using (id, submitted_at)
            where r.token_id = $1) envelopes
          from requests where token_id = $1`,
        [tokenId],
      ),
      [{ requests: closed, open: 0, used: closed, envelopes: closed }],
    );
    await until('notifications arrive from the new primary', () => listener.listening(), 30_000);
    changes.length = 0;
    await sql(standby, `select pg_notify('py_tokens', '{"all": true}')`);
    await until('one has arrived', () => changes.length > 0);
  });
});
