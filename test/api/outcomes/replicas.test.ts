/** What applies to a token applies across all replicas of the API. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { makeApp } from '../../../src/service/api/server.ts';
import { listen, type HttpServer } from '../../../src/service/api/http/http_server.ts';
import { wire, type Wired } from '../../../src/service/api/wire.ts';
import { openStore, type Store } from '../../../src/platform/store/store.ts';
import { until } from '../../until.ts';
import { accountSettings, startApi, tool, type ApiFixture } from '../fixture.ts';
import { watched, type Watched } from '../described.ts';
import { packText } from '../../result/text_body.ts';

const result = { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 1 };
const asked = [{ name: 'ffprobe' as const }];

interface Call {
  query?: string;
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

describe('two replicas of the API', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let store: Store;
  let wired: Wired;
  let server: HttpServer;
  let urls: string[];
  let responses: Watched;
  before(async () => {
    api = await startApi({ maxQueued: 5 });
    store = await openStore({ url: api.stored.server.url });
    const { settings, log, sealKeys } = api.wired.deps;
    wired = wire({
      store,
      bus: api.bus,
      kube: api.kube,
      sealKeys,
      log,
      accounts: accountSettings(),
      settings: { ...settings, replica: 'api-second' },
    });
    await wired.toolsRead;
    responses = watched(makeApp(wired.deps, wired.checks).callback());
    server = await listen(responses.handler, { host: '127.0.0.1', port: 0 }, () => store.newRequest().id);
    urls = [api.url, `http://127.0.0.1:${server.port}`];
  });
  after(async () => {
    await server.close(1_000);
    await wired.stop();
    await store.close();
    await api.stop();
    responses.assertDescribed();
  });

  const file = (replica: number, token: string, init: Call = {}) =>
    fetch(`${urls[replica % 2]}/v1/probe/file${init.query ?? ''}`, {
      ...init,
      headers: { Authorization: `Bearer ${token}`, ...init.headers },
    });

  it('share one rate limit: refused calls of every kind count, and each response has what is left', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 6 });
    const left: string[] = [];
    const calls: Call[] = [
      { query: '?url=file:///x' },
      { query: '?nonsense=1' },
      { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
      { query: '?url=https://a.test/&webhook_url=https://b.test/' },
    ];
    for (const [index, call] of calls.entries()) {
      const response = await file(index, token, call);
      assert.equal(response.status, 400, JSON.stringify(call));
      assert.equal(response.headers.get('ratelimit-policy'), '"default";q=6;w=60');
      left.push(/^"default";r=(\d+);t=\d+$/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? '');
    }
    assert.deepEqual(left, ['5', '4', '3', '2', '1']);
    await api.stored.sql(`update tokens set permissions = '{read:media}' where name = $1`, [
      `test ${token.slice(0, 8)}`,
    ]);
    // An earlier call would be a normal request, and wait for its response.
    const sha256 = createHash('sha256').update(token).digest();
    await until(
      'the change is heard of',
      async () => (await wired.deps.tokens.get(sha256, '127.0.0.1'))?.permissions?.length === 1,
    );
    const forbidden = await file(1, token, { query: '?url=https://a.test/' });
    assert.equal(forbidden.status, 403);
    assert.match(forbidden.headers.get('ratelimit') ?? '', /^"default";r=0;/);
    for (const replica of [0, 1]) {
      const over = await file(replica, token, { query: '?url=https://a.test/' });
      assert.equal(over.status, 429);
      const after = Number(over.headers.get('retry-after'));
      assert.ok(after >= 1 && after <= 10, `${after}`);
    }
  });

  /** An account with these tokens. */
  const newAccount = async (name: string, tokens: number[], requestsPerMinute: number | null = null): Promise<void> => {
    await api.stored.sql(
      `with made as (insert into users (email, status, role, permissions, requests_per_minute)
          values ($1, 'active', 'user', '{write:media,read:media}', $2) returning id)
        update tokens set user_id = (select id from made) where id = any($3)`,
      [`${name}@example.org`, requestsPerMinute, tokens],
    );
  };

  it('limit the calls of an account over all its tokens to four times what its root user may', async () => {
    const tokens = [];
    for (let made = 0; made < 6; made++) tokens.push(await api.newToken());
    await newAccount(
      'many-tokens',
      tokens.map(({ id }) => id),
      1,
    );
    const statuses: number[] = [];
    const calls = tokens.slice(0, 5).map(({ token }) => file(0, token, { query: '?url=file:///x' }));
    for (const answer of await Promise.all(calls)) statuses.push(answer.status);
    assert.deepEqual(statuses.sort(), [400, 400, 400, 400, 429]);
    const over = await file(0, tokens[5]!.token, { query: '?url=file:///x' });
    assert.deepEqual(
      [over.status, over.headers.get('ratelimit-policy'), await over.json()],
      [
        429,
        '"default";q=4;w=60',
        { error: 'rate limit of the account exceeded, over all its users and tokens; try again later' },
      ],
    );
    const after = Number(over.headers.get('retry-after'));
    assert.ok(after >= 1 && after <= 15, `${after}`);
  });

  it('do not count unauthenticated calls or other methods', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 2 });
    for (const response of [
      await file(0, 'x'),
      await fetch(`${urls[1]}/v1/probe/file`),
      await file(0, token, { method: 'DELETE' }),
    ]) {
      assert.ok([401, 405].includes(response.status));
      assert.equal(response.headers.has('ratelimit'), false);
    }
    assert.match((await file(0, token, { query: '?nonsense=1' })).headers.get('ratelimit') ?? '', /;r=1;/);
  });

  it('make one request per Idempotency-Key: a repeat at the other replica waits for the same job', async () => {
    const post = (replica: number) =>
      file(replica, api.token, {
        method: 'POST',
        body: JSON.stringify({ url: 'https://pair.test/a.mp4', only: 'ffprobe' }),
        headers: { 'content-type': 'application/json', 'Idempotency-Key': 'pair' },
      });
    const first = post(0);
    const job = await api.job('pair.test');
    const second = post(1);
    await until('the second waits', () => wired.deps.waiting.size() === 1);
    await api.end(job.metadata.name, { result, asked });
    const [one, two] = await Promise.all([first, second]);
    assert.deepEqual([one.status, two.status, two.headers.get('x-request-id')], [200, 200, job.metadata.name]);
    assert.equal(await two.text(), await one.text());
  });

  it('start a repeat anew if the first caller disconnected from either replica', async () => {
    const caller = new AbortController();
    const body = {
      method: 'POST',
      body: JSON.stringify({ url: 'https://cut.test/a.mp4', only: 'ffprobe' }),
      headers: { 'content-type': 'application/json', 'Idempotency-Key': 'cut' },
    };
    const first = file(0, api.token, { ...body, signal: caller.signal });
    const job = await api.job('cut.test');
    const second = file(1, api.token, body);
    await until('the second waits', () => wired.deps.waiting.size() === 1);
    caller.abort();
    await assert.rejects(first, { name: 'AbortError' });
    // What the leader does for a deleted job.
    await api.end(job.metadata.name, {
      close: { status: 499, reason: 'Cancelled', error: 'the request was cancelled' },
      tell: false,
    });
    const again = await api.job('cut.test');
    await api.stored.store.closeRequest({ ...(await closeOf(again.metadata.name)), body: packed() });
    const answer = await second;
    assert.deepEqual([answer.status, answer.headers.get('x-request-id')], [200, again.metadata.name]);
  });

  const openMany = async (token: number, count: number): Promise<void> => {
    for (let made = 0; made < count; made++)
      await store.openRequest({
        ...store.newRequest(),
        tokenId: token,
        userId: api.userId,
        kind: 'file',
        display: 'https://full.test/a',
        scheme: 'https',
        request: {},
        tools: [],
        queueTimeoutMs: 60_000,
        timeoutMs: 1,
        waiter: null,
        webhookUrl: null,
        idempotency: null,
        requestsPerMinute: 0,
      });
  };
  /** The response, or null if the request was accepted and waits for its result. */
  const refusal = (replica: number, token: string) =>
    file(replica, token, { query: '?url=https://none.test/a', signal: AbortSignal.timeout(200) }).catch(() => null);

  it('both refuse an account with its share of the queue, whatever token it uses, and no other account', async () => {
    const [busy, idle, other] = [await api.newToken(), await api.newToken(), await api.newToken()];
    await api.stored.sql('update tokens set concurrency = 1 where id = $1', [busy.id]);
    await newAccount('other', [other.id]);
    await openMany(busy.id, 3);
    for (const replica of [0, 1]) {
      const full = await until('the account is refused', () => refusal(replica, idle.token));
      assert.deepEqual(
        [full.status, full.headers.get('retry-after'), await full.json()],
        [
          429,
          '10',
          {
            error:
              'the account has as many requests in the queue as one account may have, over all its users and tokens; ' +
              'try again later',
          },
        ],
      );
      assert.equal(await refusal(replica, other.token), null);
    }
    await api.stored.sql(`update requests set state = 'error' where state = 'open'`);
    await until('the account has room again', async () => (await refusal(0, idle.token)) === null);
    await api.stored.sql(`update requests set state = 'error' where state = 'open'`);
  });

  it('both refuse at once while the queue is full, and accept requests again afterwards', async () => {
    const { token, id } = await api.newToken();
    await api.stored.sql('update tokens set concurrency = 2 where id = $1', [id]);
    await openMany(id, 7);
    assert.deepEqual([...(await store.waitingRequests())], [[api.userId, 5]], 'seven are open, two may run');
    for (const replica of [0, 1]) {
      const full = await until('it is full', async () => {
        // Invalid requests get their own error, even while the queue is full.
        assert.equal((await file(replica, token, { query: '?url=file:///x' })).status, 400);
        const response = await refusal(replica, token);
        if (response?.status !== 429) return null;
        const { error } = (await response.json()) as { error: string };
        return error === 'the queue of the installation is full; try again later' && response.headers;
      });
      assert.equal(full.get('retry-after'), '10');
      assert.ok(full.has('ratelimit'));
    }
    await api.stored.sql(`update requests set state = 'error' where state = 'open'`);
    await until(
      'there is room again',
      async () =>
        (await file(1, token, { query: '?url=https://room.test/a', signal: AbortSignal.timeout(200) }).then(
          ({ status }) => status,
          () => 0,
        )) === 0,
    );
  });

  const closeOf = async (id: string) => {
    const record = (await store.readRequest(id))!;
    return {
      id,
      submittedAt: record.submittedAt,
      state: 'success' as const,
      status: 200,
      reason: 'Completed' as const,
      error: null,
      attempt: 1,
      startedAt: record.submittedAt,
      tools: [],
      ioBytes: 1,
    };
  };
  const packed = () => packText(result).packed;
});
