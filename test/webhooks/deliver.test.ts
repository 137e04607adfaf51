import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Delivery } from '../../src/service/webhooks/deliver.ts';
import { makeCertificate } from '../source/certificate.ts';
import { startStore, type StoreFixture } from '../store/fixture.ts';
import { until } from '../until.ts';
import { budget, deliverer, endedRequest, makeDue, outboxRow } from './outbox.ts';
import { secretText, startReceiver, type Receiver } from './receiver.ts';

const SECRET = randomBytes(32);
const ALL = {
  userIds: null,
  tokenIds: null,
  states: [],
  requestId: null,
  sort: 'created',
  order: 'desc',
  limit: 10,
  offset: 0,
} as const;

describe('delivering webhooks', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let receiver: Receiver;
  const running = new Set<Delivery>();
  before(async () => {
    [fixture, receiver] = await Promise.all([startStore({ alone: true, retryMs: 5_000 }), startReceiver()]);
    await fixture.sql('update tokens set webhook_secret = $1', [SECRET]);
  });
  after(async () => {
    await receiver.close();
    await fixture.close();
  });
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => void response.writeHead(204).end();
  });
  afterEach(async () => {
    await Promise.all([...running].map((one) => one.stop()));
    running.clear();
    await fixture.sql('truncate webhook_outbox');
  });

  const start = (...given: Parameters<typeof deliverer> extends [unknown, ...infer Rest] ? Rest : never): Delivery => {
    const delivery = deliverer(fixture, ...given);
    running.add(delivery);
    return delivery;
  };
  const row = (id: string) => outboxRow(fixture, id);
  const ended = (id: string, state: string) =>
    until(`the webhook is ${state}`, async () => (await row(id)).state === state);
  const attempts = (id: string, count: number) =>
    until(`${count} attempts`, async () => {
      const now = await row(id);
      return now.attempts.length === count && now.leased_by === null ? now : null;
    });
  const of = (id: string) => receiver.received.filter(({ body }) => body.includes(id));

  it("sends a due webhook at once, signed with the token's own secret, and records the outcome", async () => {
    const lines: string[] = [];
    start({}, lines);
    const id = await endedRequest(fixture, `${receiver.url}/hook?key=s3cret`);
    await ended(id, 'delivered');
    const [received] = of(id);
    const verified = new Webhook(secretText(SECRET)).verify(
      received!.body,
      received!.headers as Record<string, string>,
    ) as Record<string, any>;
    assert.deepEqual(
      [verified['type'], verified['metadata'].request_id, verified['ffprobe'].response],
      ['probe.completed', id, { format: {} }],
    );
    const stored = await row(id);
    assert.equal(received!.headers['webhook-id'], stored.id);
    assert.deepEqual(
      stored.attempts.map(({ status, error }) => ({ status, error })),
      [{ status: 204, error: undefined }],
    );
    await until('it is logged', () => lines.join('').includes('webhook sent'));
    assert.ok(!lines.join('').includes('s3cret'));
  });

  it('makes a missing secret, one for all replicas, and ends without a token', async () => {
    const [late] = await fixture.sql<{ id: string }>(
      `insert into tokens (user_id, name) values ($1, 'late') returning id`,
      [fixture.admin.userId],
    );
    start();
    start({ makeSecret: (tokenId) => fixture.store.giveWebhookSecret(tokenId, Buffer.alloc(32, 8)) });
    const tokenId = Number(late!.id);
    const ids = await Promise.all([1, 2, 3, 4].map(() => endedRequest(fixture, receiver.url, { tokenId })));
    for (const id of ids) await ended(id, 'delivered');
    const [token] = await fixture.sql<{ secret: Buffer }>('select webhook_secret as secret from tokens where id = $1', [
      tokenId,
    ]);
    for (const id of ids) {
      assert.equal((await row(id)).attempts.length, 1);
      const [{ body, headers }] = of(id) as [Receiver['received'][number]];
      new Webhook(secretText(token!.secret)).verify(body, headers as Record<string, string>);
    }
    const gone = await endedRequest(fixture, receiver.url, { tokenId: 999_999 });
    await ended(gone, 'failed');
    assert.deepEqual(
      (await row(gone)).attempts.map(({ status, error }) => [status, error]),
      [[null, 'the request or its token was deleted']],
    );
  });

  for (const what of ['openSecret', 'openUrl'] as const) {
    it(`${what} fails: the attempt counts, and the next follows after the scheduled pause`, async () => {
      const lines: string[] = [];
      const box = { known: false };
      start(
        {
          [what]: async (kept: never) => {
            if (!box.known) throw new Error('no key opens it');
            return kept;
          },
        },
        lines,
      );
      const id = await endedRequest(fixture, receiver.url);
      const first = await attempts(id, 1);
      assert.ok(first.next_in_ms > 1_000 && first.next_in_ms <= 6_000, `${first.next_in_ms}`);
      assert.equal(lines.filter((line) => line.includes('cannot decrypt a webhook')).length, 1);
      box.known = true;
      await makeDue(fixture, id);
      await ended(id, 'delivered');
      assert.deepEqual(
        (await row(id)).attempts.map(({ status, error }) => [status, error]),
        [
          [null, 'the signing secret or the address cannot be decrypted'],
          [204, undefined],
        ],
      );
    });
  }

  it('retries with the same id, a new time and signature, after the scheduled pauses', async () => {
    receiver.answer = (response) => void response.writeHead(500).end();
    start();
    const id = await endedRequest(fixture, receiver.url);
    const first = await attempts(id, 1);
    assert.ok(first.next_in_ms > 1_000 && first.next_in_ms <= 6_000, `${first.next_in_ms}`);
    await makeDue(fixture, id);
    const second = await attempts(id, 2);
    assert.ok(second.next_in_ms > 250_000 && second.next_in_ms <= 360_000, `${second.next_in_ms}`);
    receiver.answer = (response) => void response.writeHead(200).end('thanks');
    await makeDue(fixture, id);
    await ended(id, 'delivered');
    assert.deepEqual(
      (await row(id)).attempts.map(({ status, error }) => [status, error]),
      [
        [500, 'the receiver answered 500'],
        [500, 'the receiver answered 500'],
        [200, undefined],
      ],
    );
    const ids = of(id).map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(ids, [ids[0], ids[0], ids[0]]);
    for (const { body, headers } of of(id))
      new Webhook(secretText(SECRET)).verify(body, headers as Record<string, string>);
  });

  it('gives up after the last retry, and at once if the receiver answers 410', async () => {
    receiver.answer = (response, { path }) => void response.writeHead(path === '/gone' ? 410 : 503).end();
    start();
    const [gone, never] = [
      await endedRequest(fixture, `${receiver.url}/gone`),
      await endedRequest(fixture, receiver.url),
    ];
    await ended(gone, 'failed');
    assert.equal(of(gone).length, 1);
    for (let count = 1; count <= 9; count++) {
      await attempts(never, count);
      await makeDue(fixture, never);
    }
    await ended(never, 'failed');
    assert.equal(of(never).length, 10);
  });

  it('waits for as long as Retry-After asks', async () => {
    receiver.answer = (response) => void response.writeHead(429, { 'retry-after': '3600' }).end();
    start();
    const id = await endedRequest(fixture, receiver.url);
    const { next_in_ms: next } = await attempts(id, 1);
    // One second of tolerance, because the clock of a machine may be set back between the two reads.
    assert.ok(next > 3_500_000 && next <= 3_601_000, `${next}`);
  });

  it('sends each webhook once with several replicas', async () => {
    const replicas = [start(), start(), start()];
    const ids = await Promise.all(Array.from({ length: 60 }, () => endedRequest(fixture, receiver.url)));
    await until(
      'all are delivered',
      async () => (await fixture.sql(`select from webhook_outbox where state = 'delivered'`)).length === ids.length,
    );
    for (const id of ids) assert.equal(of(id).length, 1);
    assert.equal(replicas.length, 3);
  });

  it('counts an attempt whose replica died, continues by the schedule, and ignores a late outcome', async () => {
    const id = await endedRequest(fixture, receiver.url);
    const [held] = await fixture.store.claimWebhooks({
      holder: '00000000-0000-4000-8000-000000000001',
      leaseMs: 600,
      limit: 1,
      perAccount: 8,
      busy: new Map(),
    });
    assert.equal(held?.requestId, id);
    assert.deepEqual(
      await fixture.store.claimWebhooks({
        holder: '00000000-0000-4000-8000-000000000002',
        leaseMs: 600,
        limit: 1,
        perAccount: 8,
        busy: new Map(),
      }),
      [],
    );
    start();
    const lost = await attempts(id, 1);
    assert.deepEqual([lost.step, lost.attempts[0]?.error, of(id).length], [1, 'the attempt was interrupted', 0]);
    assert.ok(lost.next_in_ms > 1_000 && lost.next_in_ms <= 6_000, `${lost.next_in_ms}`);
    await makeDue(fixture, id);
    await ended(id, 'delivered');
    const late = { at: new Date().toISOString(), status: 500, durationMs: 1 };
    assert.equal(
      await fixture.store.recordWebhook(held!.id, '00000000-0000-4000-8000-000000000001', late, {
        state: 'pending',
        afterMs: 1,
      }),
      false,
    );
    assert.deepEqual([(await row(id)).state, (await row(id)).attempts.length], ['delivered', 2]);
  });

  it('gives up a webhook that crashes its replica each time, after the usual number of attempts', async () => {
    const id = await endedRequest(fixture, receiver.url);
    const dies = '00000000-0000-4000-8000-000000000003';
    let crashes = 0;
    for (let round = 0; round < 30 && (await row(id)).state === 'pending'; round++) {
      await makeDue(fixture, id);
      const [claimed] = await fixture.store.claimWebhooks({
        holder: dies,
        leaseMs: 600,
        limit: 1,
        perAccount: 8,
        busy: new Map(),
      });
      assert.equal(claimed?.lost, false);
      crashes += 1;
      await fixture.sql(`update webhook_outbox set lease_until = now() - interval '1 s' where request_id = $1`, [id]);
      const delivery = start();
      const done = round + 1;
      await attempts(id, done);
      await delivery.stop();
    }
    assert.deepEqual([crashes, (await row(id)).state, of(id).length], [10, 'failed', 0]);
  });

  it('waits without an attempt for room in the memory budget', async () => {
    const memory = budget(20_000_000);
    const place = await memory.reserve({ inflatedBytes: null, account: fixture.admin.userId });
    const lines: string[] = [];
    const delivery = deliverer(fixture, {}, lines, memory);
    running.add(delivery);
    const id = await endedRequest(fixture, receiver.url, { output: JSON.stringify('x'.repeat(300_000)) });
    await until('the lack of memory was logged', () =>
      lines.some((line) => line.includes('the memory budget of results is used up')),
    );
    assert.deepEqual([(await row(id)).attempts, (await row(id)).step], [[], 0]);
    place.release();
    await makeDue(fixture, id);
    await ended(id, 'delivered');
    await until('no memory is held', () => memory.used() === 0);
  });

  it('abridges a large result without holding it, even one that inflates to 30 MB', async () => {
    start();
    const id = await endedRequest(fixture, receiver.url, { output: JSON.stringify({ a: 'x'.repeat(30_000_000) }) });
    await until('it is delivered', async () => (await row(id)).state === 'delivered', 50_000);
    const { type, truncated, ffprobe } = JSON.parse(of(id)[0]!.body) as Record<string, any>;
    assert.deepEqual([type, truncated, ffprobe], ['probe.completed', true, { success: true, duration: 12, usage: 12 }]);
  });

  it('gives up on a result that cannot be read', async () => {
    const lines: string[] = [];
    start({}, lines);
    const id = await endedRequest(fixture, receiver.url, {
      close: { body: Buffer.from('broken'), inflatedBytes: 5_000_000 },
    });
    await ended(id, 'failed');
    assert.deepEqual(
      (await row(id)).attempts.map(({ error }) => error),
      ['the result cannot be read'],
    );
  });

  it('sends due webhooks after a restart of Postgres', async () => {
    start();
    await fixture.server.restart('immediate');
    await until('Postgres can be reached again', () => fixture.store.healthy());
    const id = await endedRequest(fixture, receiver.url);
    await ended(id, 'delivered');
    assert.equal(of(id).length, 1);
  });

  it('finishes the attempts in progress when it stops', async () => {
    let release = (): void => {};
    receiver.answer = (response) => {
      release = () => void response.writeHead(204).end();
    };
    const delivery = start();
    const id = await endedRequest(fixture, receiver.url);
    await until('it has arrived', () => of(id).length === 1);
    const stopping = delivery.stop();
    release();
    await stopping;
    assert.equal((await row(id)).state, 'delivered');
  });

  it('an account with silent receivers uses only its own places, over all of its tokens', async () => {
    const slow: { userId: number; tokenId: number }[] = [];
    for (const parent of [null, 0, 0]) {
      const [user] = await fixture.sql<{ id: string }>(
        `insert into users (email, status, parent_id) values ($1, 'active', $2) returning id`,
        [`slow${slow.length}@example.org`, parent === null ? null : slow[0]!.userId],
      );
      const [token] = await fixture.sql<{ id: string }>(
        `insert into tokens (user_id, name, webhook_secret) values ($1, 'slow', $2) returning id`,
        [user!.id, SECRET],
      );
      slow.push({ userId: Number(user!.id), tokenId: Number(token!.id) });
    }
    receiver.answer = (response, { path }) => {
      if (path === '/ok') response.writeHead(204).end();
    };
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => endedRequest(fixture, `${receiver.url}/silent`, slow[index % 3])),
    );
    // All are due already, so the first claim could take more than its share.
    const delivery = start({ atOnce: 4, perAccount: 3, timeoutMs: 5_000 });
    await until('deliveries to the silent receiver are under way', () => delivery.inHand() > 0);
    assert.equal(delivery.inHand(), 3, 'as many as it may');
    const id = await endedRequest(fixture, `${receiver.url}/ok`);
    await ended(id, 'delivered');
    assert.equal(delivery.inHand(), 3);
    const { rows: webhooks } = await fixture.store.listWebhooks({ ...ALL, states: ['pending'], limit: 20 });
    for (const { id: webhook } of webhooks) await fixture.store.retryWebhook(webhook, null);
    const again = await endedRequest(fixture, `${receiver.url}/ok`);
    await ended(again, 'delivered');
    assert.equal(delivery.inHand(), 3, 'sent again by hand, they get no more');
    receiver.answer = (response) => void response.writeHead(410).end();
  });

  it('a backlog of one account does not hide what others have to send', async () => {
    const [busy] = await fixture.sql<{ id: string }>(
      `insert into users (email, status) values ('backlog@example.org', 'active') returning id`,
    );
    await fixture.sql(
      `insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url, progress, next_at)
        select gen_random_uuid(), now(), $1, $2, '', -n, now() - interval '1 hour' from generate_series(1, 5000) n`,
      [fixture.admin.tokenId, Number(busy!.id)],
    );
    const id = await endedRequest(fixture, `${receiver.url}/ok`);
    const claim = (limit: number) =>
      fixture.store.claimWebhooks({
        holder: randomUUID(),
        leaseMs: 60_000,
        limit,
        perAccount: 8,
        busy: new Map([[Number(busy!.id), 2]]),
      });
    assert.deepEqual(
      (await claim(1)).map(({ requestId }) => requestId),
      [id],
      'who has fewer under way comes first',
    );
    assert.equal((await claim(16)).length, 6);
  });

  it('those that ended long ago are deleted, more than one step takes, and pending ones stay', async () => {
    const rows = (count: number, state: string, days: number) =>
      fixture.sql(
        `insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url, state, next_at, created_at,
            ended_at)
          select gen_random_uuid(), day, 0, 0, '', $2::text, 'infinity', day, case when $2 <> 'pending' then day end
            from generate_series(1, $1) n, (select now() - make_interval(days => $3) as day) then_`,
        [count, state, days],
      );
    await Promise.all([rows(1, 'pending', 9), rows(10_001, 'delivered', 9), rows(1, 'failed', 5)]);
    await fixture.store.forgetWebhooks(7);
    assert.deepEqual(await fixture.sql('select state from webhook_outbox order by state'), [
      { state: 'failed' },
      { state: 'pending' },
    ]);
  });

  it('connects to no refused address, although the token may read sources there', async () => {
    const [own] = await fixture.sql<{ id: string }>(
      'insert into tokens (user_id, name, allow, webhook_secret) values ($1, ' +
        `'own', '[{"cidr": "127.0.0.1/32"}]', $2) returning id`,
      [fixture.admin.userId, SECRET],
    );
    start({ allow: [] });
    for (const token of [{}, { tokenId: Number(own!.id) }]) {
      const refused = await endedRequest(fixture, receiver.url, token);
      assert.equal(
        (await attempts(refused, 1)).attempts[0]?.error,
        'the address is not allowed: it is private, local or reserved',
      );
      assert.equal(of(refused).length, 0);
    }
  });

  it('sends nothing to a receiver without a trusted certificate', async () => {
    const secure = await startReceiver(await makeCertificate({ ip: ['127.0.0.1'] }));
    try {
      start();
      const id = await endedRequest(fixture, secure.url);
      const [attempt] = (await attempts(id, 1)).attempts;
      assert.equal(attempt?.error, 'the certificate of the host cannot be trusted: it is self-signed');
      assert.equal(secure.received.length, 0);
    } finally {
      await secure.close();
    }
  });

  it("goes through an egress proxy whose certificate is of the operator's own authority", async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'] });
    const proxy = await startReceiver(tls);
    try {
      start({ ca: tls.cert, egress: { url: proxy.url, resolve: 'proxy' } });
      const id = await endedRequest(fixture, receiver.url);
      await ended(id, 'delivered');
      assert.deepEqual([proxy.received[0]?.path, of(id).length], [`${receiver.url}/`, 0]);
    } finally {
      await proxy.close();
    }
  });

  it('a manual retry starts the schedule again, and is for the owner only', async () => {
    receiver.answer = (response) => void response.writeHead(410).end();
    start();
    const id = await endedRequest(fixture, receiver.url);
    await ended(id, 'failed');
    const { id: webhook } = await row(id);
    assert.equal(await fixture.store.retryWebhook(webhook, [fixture.admin.userId + 1_000]), null);
    receiver.answer = (response) => void response.writeHead(503).end();
    assert.equal((await fixture.store.retryWebhook(webhook, null))?.state, 'pending');
    const failed = await attempts(id, 2);
    assert.deepEqual([failed.state, failed.step], ['pending', 1]);
    receiver.answer = (response) => void response.writeHead(204).end();
    await fixture.store.retryWebhook(webhook, [fixture.admin.userId]);
    await ended(id, 'delivered');
    const { rows: webhooks, total } = await fixture.store.listWebhooks({
      ...ALL,
      userIds: [fixture.admin.userId],
      states: ['delivered'],
    });
    assert.deepEqual([total, webhooks[0]?.attempts.map(({ status }) => status)], [1, [410, 503, 204]]);
    assert.deepEqual(await fixture.store.listWebhooks({ ...ALL, userIds: [-1], sort: 'next', order: 'asc' }), {
      rows: [],
      total: 0,
    });
  });

  it('sends the error of a request that ended without a result', async () => {
    start();
    const id = await endedRequest(fixture, receiver.url, {
      close: { state: 'error', status: 429, reason: 'QueueTimeout', error: 'out of the queue', body: null },
    });
    await ended(id, 'delivered');
    const { type, success, error } = JSON.parse(of(id)[0]!.body) as Record<string, unknown>;
    assert.deepEqual({ type, success, error }, { type: 'probe.failed', success: false, error: 'out of the queue' });
  });

  it('sends the error of a request recorded with a status other than 200, whatever its result says', async () => {
    start();
    const id = await endedRequest(fixture, receiver.url, {
      close: { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'the host answered 404' },
    });
    await ended(id, 'delivered');
    const { timestamp: _, ...sent } = JSON.parse(of(id)[0]!.body) as Record<string, any>;
    assert.deepEqual(sent, {
      success: false,
      error: 'the host answered 404',
      metadata: { request_id: id, queue_time: sent['metadata'].queue_time, io_usage: sent['metadata'].io_usage },
      type: 'probe.failed',
    });
  });
});
