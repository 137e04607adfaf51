import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { clientConfig } from '../../src/platform/store/connection.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { until } from '../until.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

describe('store: Postgres unavailable', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore({ alone: true });
  });
  after(() => fixture.close());

  it('the server ends sessions of vanished clients, and poolers do not get that setting', async () => {
    const shown = async (settings: Parameters<typeof clientConfig>[0]) => {
      const client = new pg.Client(clientConfig(settings));
      await client.connect();
      try {
        return (
          await client.query(
            `select current_setting('tcp_keepalives_idle')::integer idle, ` +
              `current_setting('tcp_user_timeout')::integer unanswered`,
          )
        ).rows[0] as unknown;
      } finally {
        await client.end();
      }
    };
    const { url } = fixture.server;
    assert.deepEqual(await shown({ url }), { idle: 15, unanswered: 30_000 });
    assert.equal(((await shown({ url, statementTimeoutMs: 0 })) as { unanswered: number }).unanswered, 0);
    assert.deepEqual(
      await shown({ url: `${url}${url.includes('?') ? '&' : '?'}options=-c%20tcp_keepalives_idle%3D60` }),
      { idle: 60, unanswered: 0 },
    );
  });

  for (const how of ['fast', 'immediate'] as const) {
    it(`a restart (${how}) under load loses no call and doubles none`, async () => {
      const { store, server } = fixture;
      const tokenId = how === 'fast' ? 1001 : 1002;
      const restarted = new AbortController();
      let finished = 0;
      const worker = async () => {
        do {
          const open = anOpenInput(store, { tokenId });
          assert.equal((await store.openRequest(open)).outcome, 'opened');
          await store.closeRequest(aCloseInput(open));
          finished++;
        } while (!restarted.signal.aborted);
        const last = anOpenInput(store, { tokenId });
        await store.openRequest(last);
        await store.closeRequest(aCloseInput(last));
        finished++;
      };
      const workers = Promise.all(Array.from({ length: 4 }, worker));
      await until('calls are under way', () => finished > 20);
      await server.restart(how);
      restarted.abort();
      await workers;
      const [count] = await fixture.sql(
        `select count(*)::integer requests, count(*) filter (where state = 'open')::integer open,
        (select sum(requests)::integer from usage_minute where token_id = $1) used, (select count(*)::integer from
        envelopes e join requests r using (id, submitted_at) where r.token_id = $1) envelopes
        from requests where token_id = $1`,
        [tokenId],
      );
      assert.deepEqual(count, { requests: finished, open: 0, used: finished, envelopes: finished });
    });
  }

  it('a response lost after the commit: the retry of open and close finds it done, counted once', async () => {
    const relay = await startRelay(fixture.server.port);
    const store = await openStore({ url: fixture.server.url.replace(/:\d+\//, `:${relay.port}/`), poolSize: 1 });
    try {
      const open = anOpenInput(store, {
        tokenId: 1003,
        requestsPerMinute: 1,
        idempotency: { key: 'lost', bodySha256: Buffer.alloc(32) },
      });
      const lostOpen = relay.loseNextAnswerTo('open_request');
      assert.equal((await store.openRequest(open)).outcome, 'opened');
      assert.equal(await lostOpen, true);
      const lostClose = relay.loseNextAnswerTo('close_request');
      assert.deepEqual(await store.closeRequest(aCloseInput(open)), { closed: true, waiter: 'api-1', queueTimeMs: 7 });
      assert.equal(await lostClose, true);
      assert.deepEqual(await store.closeRequest(aCloseInput(open)), { closed: false, waiter: 'api-1', queueTimeMs: 7 });
      assert.deepEqual(await fixture.sql('select sum(requests)::integer n from usage_minute where token_id = 1003'), [
        { n: 1 },
      ]);
    } finally {
      await store.close();
      await relay.stop();
    }
  });

  it('a transaction is made whole or not at all, and again if the answer to its commit is lost', async () => {
    const relay = await startRelay(fixture.server.port);
    const store = await openStore({ url: fixture.server.url.replace(/:\d+\//, `:${relay.port}/`), poolSize: 1 });
    const { userId } = fixture.admin;
    const firstName = async () => (await store.findUser(userId))?.firstName;
    try {
      let tries = 0;
      const lost = relay.loseNextAnswerTo('commit');
      const made = await store.together('rename', (calls) => {
        tries++;
        return calls.changeUser(userId, { firstName: 'made' });
      });
      assert.equal(await lost, true);
      assert.deepEqual([tries, made?.firstName, await firstName()], [2, 'made', 'made']);
      await assert.rejects(
        store.together('rename', async (calls) => {
          await calls.changeUser(userId, { firstName: 'undone' });
          throw new Error('refused');
        }),
        { message: 'refused' },
      );
      await assert.rejects(
        store.together('rename', async (calls) => {
          await calls.changeUser(userId, { firstName: 'undone' });
          return calls.changeUser(userId, { role: 'nobody' as never });
        }),
        { name: 'StoreError', code: 'query-failed' },
      );
      // Of the one connection of this pool.
      assert.deepEqual([await firstName(), store.connections().idle], ['made', 1]);
    } finally {
      await store.close();
      await relay.stop();
    }
  });

  it('reports Postgres as unreachable, and is healthy again after a restart', async () => {
    const store = await openStore({ url: fixture.server.url, retryMs: 200 });
    try {
      assert.equal(await store.healthy(), true);
      await fixture.server.down('immediate');
      assert.equal(await store.healthy(), false);
      await assert.rejects(store.openRequest(anOpenInput(store)), { name: 'StoreError', code: 'unreachable' });
      await assert.rejects(openStore({ url: fixture.server.url, retryMs: 100 }), { code: 'unreachable' });
      await fixture.server.restart();
      assert.equal(await store.healthy(), true);
    } finally {
      await store.close();
    }
  });

  it('a query that takes too long times out', async () => {
    const store = await openStore({ url: fixture.server.url, statementTimeoutMs: 2_000 });
    const other = new pg.Client({ connectionString: fixture.server.url });
    await other.connect();
    try {
      const open = anOpenInput(store);
      await store.openRequest(open);
      await other.query('begin');
      await other.query('select 1 from requests where id = $1 for update', [open.id]);
      await assert.rejects(store.closeRequest(aCloseInput(open)), { name: 'StoreError', code: 'timeout' });
      await other.query('rollback');
      assert.equal((await store.closeRequest(aCloseInput(open))).closed, true);
    } finally {
      await other.end();
      await store.close();
    }
  });
});

/** A relay that can cut a connection after the server has responded and before the client receives it. */
async function startRelay(
  target: number,
): Promise<{ port: number; loseNextAnswerTo(text: string): Promise<boolean>; stop(): Promise<void> }> {
  let wanted: { text: string; done: (lost: boolean) => void } | undefined;
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let losing: typeof wanted;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data: Buffer) => {
      if (wanted && data.includes(wanted.text)) {
        losing = wanted;
        wanted = undefined;
      }
      upstream.write(data);
    });
    upstream.on('data', (data: Buffer) => {
      if (!losing) {
        client.write(data);
        return;
      }
      // ReadyForQuery, idle: the transaction is committed.
      if (!data.subarray(-6).equals(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]))) return;
      client.destroy();
      losing.done(true);
      losing = undefined;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    loseNextAnswerTo: (text) =>
      new Promise((done) => {
        wanted = { text, done };
      }),
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
