/** Postgres stops responding (SIGSTOP) or is killed while the API serves: what each caller gets, and when. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SUBJECT, type Ended } from '../../src/platform/bus/messages.ts';
import { packText } from '../result/text_body.ts';
import { until } from '../until.ts';
import { startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const result = { tools: [tool('ffprobe', '{}')], ioUsage: 1 };
const asked = [{ name: 'ffprobe' as const }];
const HELD_MS = 5_000;
const RETRY_MS = 2_000;

describe('API: Postgres is away', function () {
  this.timeout(90_000);
  let api: ApiFixture;
  let receiver: Receiver;
  before(async () => {
    [api, receiver] = await Promise.all([
      startApi(
        { allowWebhooks: [{ cidr: '127.0.0.1/32' }] },
        { store: { alone: true, retryMs: RETRY_MS, heldMs: HELD_MS } },
      ),
      startReceiver(),
    ]);
    const policy = { rules: [{ name: 'wrapper', field: 'container.format', is: 'mp4' }] };
    const saved = await fetch(`${api.url}/v1/policy/web`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(policy),
    });
    assert.equal(saved.status, 200);
  });
  after(async () => {
    api.stored.server.resume();
    await receiver.close();
    await api.stop();
  });

  const health = async (path: string) => {
    const began = performance.now();
    const response = await fetch(`${api.url}${path}`);
    return { status: response.status, body: await response.json(), ms: performance.now() - began };
  };
  const timed = async (answer: Promise<Response>) => {
    const began = performance.now();
    const response = await answer;
    return { response, body: (await response.json()) as object, ms: performance.now() - began };
  };
  const manage = () =>
    fetch(`${api.url}/frontend/api/v1/user/current`, { headers: { Authorization: `Bearer ${api.token}` } });

  it('a silent server: new requests get 503 after 5 s, running ones their result once it is back', async () => {
    const running = api.get('url=https://running.test/a&only=ffprobe');
    const job = await api.job('running.test');
    api.stored.server.freeze();
    try {
      const [probe, call, ready, live] = await Promise.all([
        timed(api.get('url=https://silent.test/a')),
        timed(manage()),
        health('/readyz'),
        health('/healthz'),
      ]);
      assert.deepEqual(
        [probe.response.status, probe.response.headers.get('retry-after'), probe.body],
        [503, '5', { error: 'the service is not available; try again later' }],
      );
      assert.deepEqual(
        [call.response.status, call.response.headers.get('retry-after'), call.body],
        [
          503,
          '5',
          {
            code: 50300,
            context: {},
            error: 'the service is not available; try again later',
            status: 'Service Unavailable',
          },
        ],
      );
      for (const { ms } of [probe, call])
        assert.ok(ms > HELD_MS - 200 && ms < HELD_MS + 15_000, `answered after ${ms} ms`);
      assert.deepEqual(
        [ready.status, ready.body],
        [200, { ready: true, degraded: { postgres: 'no answer within 500 ms' } }],
      );
      assert.deepEqual([live.status, live.body], [200, { ok: true }]);
      for (const { ms } of [ready, live]) assert.ok(ms < HELD_MS - 500, `a health check took ${ms} ms`);
    } finally {
      api.stored.server.resume();
    }
    await api.end(job.metadata.name, { result, asked, tell: false });
    assert.equal((await running).status, 200);
    await until(
      'the dependency is whole again',
      async () => !('degraded' in ((await health('/readyz')).body as object)),
    );
  });

  it('a request that comes while the server is silent for 2 s is held, and runs', async () => {
    api.stored.server.freeze();
    const answering = timed(api.get('url=https://held.test/a&only=ffprobe'));
    // Not a wait for a condition: the silence itself has this length.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    api.stored.server.resume();
    const job = await api.job('held.test');
    await api.end(job.metadata.name, { result, asked });
    const { response, ms } = await answering;
    assert.equal(response.status, 200);
    assert.ok(ms >= 2_000, `answered after ${ms} ms`);
  });

  const judged = { ...result, policy: { name: 'web', revision: 1, outcome: 'pass' as const, rules: [] } };
  for (const [what, more] of [
    ['body', {}],
    ['waivers', { body: packText(judged).packed.toString('base64') }],
  ] as const)
    it(`a result whose ${what} cannot be read is held until the server, killed meanwhile, is back`, async () => {
      const held: ServerResponse[] = [];
      const note = (message: unknown): void => {
        const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
        if (request.url!.includes(`${what}.test`)) held.push(response);
      };
      subscribe('http.server.request.start', note);
      const answering = api.get(`url=https://${what}.test/a&only=ffprobe&policy=web`);
      const { name } = (await api.job(`${what}.test`)).metadata;
      unsubscribe('http.server.request.start', note);
      const listeners = held[0]!.listenerCount('close');
      await api.end(name, { result: judged, close: { policy: 'pass' }, asked, tell: false });
      await api.stored.server.kill();
      let early: Response | undefined;
      void answering.then((response) => (early = response));
      const ended: Ended = { id: name, status: 200, reason: 'Completed', queueTimeMs: 7, hasBody: true, ...more };
      api.bus.publish(SUBJECT.ended(api.wired.deps.settings.replica), ended);
      await until('the caller is no longer waiting for the end', () => api.wired.deps.waiting.size() === 0);
      // Longer than the retries of a single query.
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS + 1_500));
      assert.equal(early, undefined);
      assert.equal(held[0]!.listenerCount('close'), listeners, 'no try leaves one');
      await api.stored.server.restart();
      const response = await answering;
      assert.deepEqual([response.status, ((await response.json()) as { success: boolean }).success], [200, true]);
    });

  it('a webhook waits, and is delivered once', async () => {
    const response = await api.post({
      url: 'https://hook.test/a',
      only: 'ffprobe',
      webhook_url: `${receiver.url}/hook`,
    });
    assert.equal(response.status, 202);
    const { name } = (await api.job('hook.test')).metadata;
    receiver.received.length = 0;
    await api.end(name, { result, asked, tell: false });
    await api.stored.server.kill();
    await api.stored.server.restart();
    await until('the webhook has arrived', () => receiver.received.some(({ body }) => body.includes(name)), 30_000);
    assert.equal(receiver.received.filter(({ body }) => body.includes(name)).length, 1);
  });
});
