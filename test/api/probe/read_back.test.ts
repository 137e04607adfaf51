import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import { until } from '../../until.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

describe('reading a request back', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const read = (id: string, token = api.token) =>
    fetch(`${api.url}/v1/probe/${id}`, { headers: { Authorization: `Bearer ${token}` } });

  it('returns queued, then running, then the envelope, even for a bare response', async () => {
    const answering = api.get('url=https://read.test/a.mp4&only=ffprobe&inject_output=true');
    const job = await api.job('read.test');
    const id = job.metadata.name;

    const queued = await read(id.toUpperCase());
    const waiting = (await queued.json()) as { metadata: { queue_time: number } };
    const steps = { queued: job.spec.submittedAt, admitted: null, running: null };
    assert.ok(waiting.metadata.queue_time >= 0 && waiting.metadata.queue_time < 60_000);
    assert.deepEqual(
      [queued.status, { ...waiting, metadata: { ...waiting.metadata, queue_time: 0 } }],
      [
        202,
        {
          success: true,
          metadata: { request_id: id, queue_time: 0, io_usage: 0 },
          state: 'queued',
          steps,
          progress: null,
          waiting: null,
        },
      ],
    );

    const at = new Date().toISOString();
    await api.kube.mergePatchStatus(
      PROBE_JOBS,
      id,
      {
        conditions: [
          { type: 'Admitted', status: 'True', reason: 'Admitted', message: '', lastTransitionTime: at },
          { type: 'Succeeded', status: 'Unknown', reason: 'Running', message: '', lastTransitionTime: at },
        ],
        queueTimeMs: 12,
      },
      { namespace: api.namespace },
    );
    const running = await until('it is running', async () => {
      const response = await read(id);
      const body = (await response.json()) as { state: string };
      return body.state === 'running' && { status: response.status, body };
    });
    assert.deepEqual(
      [running.status, running.body],
      [
        202,
        {
          success: true,
          metadata: { request_id: id, queue_time: 12, io_usage: 0 },
          state: 'running',
          steps: { ...steps, admitted: at, running: at },
          progress: null,
          waiting: null,
        },
      ],
    );

    await api.end(id, {
      result: { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 9 },
      asked: [{ name: 'ffprobe' }],
    });
    assert.equal(await (await answering).text(), '{"format":{}}');
    const done = await read(id);
    assert.equal(done.headers.has('ratelimit'), true);
    assert.deepEqual(
      [done.status, await done.json()],
      [
        200,
        {
          success: true,
          metadata: { request_id: id, queue_time: 7, io_usage: 9 },
          ffprobe: { success: true, duration: 31, usage: 31, response: { format: {} } },
        },
      ],
    );
  });

  it('returns status and error of a request that ended without an envelope', async () => {
    const answering = api.get('url=https://lost.test/a.mp4');
    const job = await api.job('lost.test');
    await api.end(job.metadata.name, { close: { status: 429, reason: 'QueueTimeout', error: 'out of the queue' } });
    await answering;
    const response = await read(job.metadata.name);
    assert.deepEqual([response.status, await response.json()], [429, { error: 'out of the queue' }]);
  });

  it('asks the API server once a second at most for the state of a request', async () => {
    const answering = api.get('url=https://often.test/a.mp4');
    const id = (await api.job('often.test')).metadata.name;
    const { kube } = api.wired.deps;
    const { get } = kube;
    let asked = 0;
    kube.get = ((...args: Parameters<typeof get>) => {
      asked += 1;
      return get(...args);
    }) as typeof get;
    const began = performance.now();
    try {
      for (let call = 0; call < 40; call++) assert.equal((await read(id)).status, 202);
    } finally {
      kube.get = get;
    }
    const most = 1 + Math.ceil((performance.now() - began) / 1_000);
    assert.ok(asked >= 1 && asked <= most, `${asked} of at most ${most}`);
    await api.end(id, { close: { status: 500, reason: 'RunnerLost' } });
    await answering;
  });

  it("is limited to the caller's requests", async () => {
    const answering = api.get('url=https://mine.test/a.mp4');
    const job = await api.job('mine.test');
    const [other] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions) values ('other@example.org', ` +
        `'active', 'user', array['read:media', 'write:media']) returning id`,
    );
    const { token, id } = await api.newToken();
    await api.stored.sql('update tokens set user_id = $1 where id = $2', [other!.id, id]);
    for (const path of [job.metadata.name, '0190a5c1-0000-7000-8000-000000000001', 'not-an-id', '%27']) {
      const response = await read(path, token);
      assert.deepEqual([path, response.status, await response.json()], [path, 404, { error: 'not found' }]);
    }
    await api.end(job.metadata.name, { close: { status: 500, reason: 'RunnerLost' } });
    await answering;
  });

  for (const [what, bytes] of [
    ['a result', 10],
    ['a large result', 2_000_000],
  ] as const) {
    it(`${what} that has expired is 404`, async () => {
      const answering = api.get('url=https://expired.test/a.mp4&only=ffprobe');
      const { name: id } = (await api.job('expired.test')).metadata;
      const output = JSON.stringify({ format: 'x'.repeat(bytes) });
      await api.end(id, { result: { tools: [tool('ffprobe', output)], ioUsage: 9 }, asked: [{ name: 'ffprobe' }] });
      await answering;
      if (bytes > 1_000_000) await api.stored.sql('update requests set inflated_bytes = $1 where id = $2', [bytes, id]);
      await api.stored.sql('delete from envelopes where id = $1', [id]);
      const response = await read(id);
      assert.deepEqual([response.status, await response.json()], [404, { error: 'the result has expired' }]);
    });
  }

  it('returns everything of a request created with kubectl', async () => {
    const { id, submittedAt } = api.stored.store.newRequest();
    await api.stored.store.openRequest({
      id,
      submittedAt,
      tokenId: api.tokenId,
      userId: api.userId,
      kind: 'file',
      display: 'https://hand.test/a',
      scheme: 'https',
      request: {},
      tools: [],
      queueTimeoutMs: 1,
      timeoutMs: 1,
      waiter: null,
      webhookUrl: null,
      idempotency: null,
      requestsPerMinute: 0,
    });
    await api.end(id, { result: { tools: [tool('ffprobe', '{}'), tool('mediainfo', '{}')], ioUsage: 0 } });
    const response = await read(id);
    assert.deepEqual(
      [response.status, Object.keys((await response.json()) as object)],
      [200, ['success', 'metadata', 'ffprobe', 'mediainfo']],
    );
  });
});
