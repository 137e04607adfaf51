/** Requests without a held connection, and cancelled requests. */
import assert from 'node:assert/strict';
import { isKubeError, PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import { prefersAsync } from '../../../src/service/api/http/request_context.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';

describe('Prefer header', () => {
  for (const [header, method, applies] of [
    ['respond-async', 'POST', true],
    ['Respond-Async', 'POST', true],
    ['return=minimal, respond-async; x=y, wait=10', 'POST', true],
    ['respond-async', 'GET', false],
    ['', 'POST', false],
    ['respond-asynchronously', 'POST', false],
    ['foo="a, respond-async, b"', 'POST', false],
    ['foo; respond-async', 'POST', false],
    [`${'x,'.repeat(4_000)}respond-async`, 'POST', false],
  ] as const) {
    it(`${method} "${header.slice(0, 50)}" ${applies ? 'asks' : 'does not ask'} for an immediate response`, () =>
      assert.equal(prefersAsync({ method, get: () => header }), applies));
  }
});

describe('respond-async', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const ask = (path: string, init: RequestInit = {}, token = api.token) =>
    fetch(`${api.url}/v1/${path}`, {
      ...init,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(init.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...init.headers,
      },
    });
  const start = (path: string, fields: object, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: JSON.stringify(fields), headers: { Prefer: 'respond-async', ...headers } });
  const idOf = async (response: Response) =>
    ((await response.json()) as { metadata: { request_id: string } }).metadata.request_id;
  const cancel = async (id: string, token = api.token) => {
    const response = await ask(`probe/${id}/cancel`, { method: 'POST' }, token);
    return [response.status, await response.json()];
  };
  const isGone = async (id: string): Promise<boolean> => {
    try {
      await api.kube.get(PROBE_JOBS, id, { namespace: api.namespace });
      return false;
    } catch (error) {
      if (isKubeError(error, 'not-found')) return true;
      throw error;
    }
  };

  for (const [path, fields] of [
    ['probe/file', { only: 'ffprobe' }],
    ['probe/mediastreamvalidator', {}],
    ['compare', { ffprobe: { versions: ['3.3', '7.0'] } }],
  ] as const) {
    it(`POST ${path} responds at once, and its job exists`, async () => {
      const host = `${path.replaceAll('/', '-')}.test`;
      const response = await start(path, { url: `https://${host}/a.m3u8`, ...fields });
      assert.deepEqual([response.status, response.headers.get('preference-applied')], [202, 'respond-async']);
      const id = await idOf(response);
      assert.equal(response.headers.get('x-request-id'), id);
      assert.equal((await api.job(host)).metadata.name, id);
      assert.equal(((await (await ask(`probe/${id}`)).json()) as { state: string }).state, 'queued');
    });
  }

  it('the result can be read back', async () => {
    const id = await idOf(await start('probe/file', { url: 'https://later.test/a.mp4', only: 'ffprobe' }));
    await api.end(id, {
      result: { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 9 },
      asked: [{ name: 'ffprobe' }],
    });
    const read = await ask(`probe/${id}`);
    assert.deepEqual([read.status, ((await read.json()) as { success: boolean }).success], [200, true]);
  });

  it('has no effect on a request that is refused', async () => {
    const response = await start('probe/file', { url: 'https://bad.test/a.mp4', timeout: 'long' });
    assert.deepEqual([response.status, response.headers.get('preference-applied')], [400, null]);
  });

  it('with an Idempotency-Key: a repeat gets the first request, and a repeat that waits gets its result', async () => {
    const key = { 'Idempotency-Key': 'again' };
    const fields = { url: 'https://again.test/a.mp4', only: 'ffprobe' };
    const id = await idOf(await start('probe/file', fields, key));
    assert.equal(await idOf(await start('probe/file', fields, key)), id);
    const waiting = api.post(fields, { headers: key });
    await until('the repeat waits', () => api.wired.deps.waiting.size() === 1);
    await api.end(id, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 0 }, asked: [{ name: 'ffprobe' }] });
    const response = await waiting;
    assert.deepEqual([response.status, response.headers.get('x-request-id')], [200, id]);
  });

  it('cancel: deletes the job, and a second cancel gets the same response', async () => {
    const id = await idOf(await start('probe/file', { url: 'https://stop.test/a.mp4' }));
    const accepted = [202, { success: true, metadata: { request_id: id } }];
    assert.deepEqual(await cancel(id), accepted);
    await until('the job is deleted', () => isGone(id));
    // What the leader does for a deleted job.
    await api.end(id, { close: { status: 499, reason: 'Cancelled', error: 'the request was cancelled' } });
    assert.deepEqual(await cancel(id), accepted);
    const read = await ask(`probe/${id}`);
    assert.deepEqual([read.status, await read.json()], [499, { error: 'the request was cancelled' }]);
  });

  it('cancel: a caller that waits for the request gets 499', async () => {
    const waiting = api.get('url=https://both.test/a.mp4');
    const { name: id } = (await api.job('both.test')).metadata;
    assert.equal((await cancel(id))[0], 202);
    await until('the job is deleted', () => isGone(id));
    await api.end(id, { close: { status: 499, reason: 'Cancelled', error: 'the request was cancelled' } });
    assert.equal((await waiting).status, 499);
  });

  it('cancel: ends a request without a job itself', async () => {
    const { store } = api.stored;
    const opened = store.newRequest();
    await store.openRequest({
      ...opened,
      tokenId: api.tokenId,
      userId: api.userId,
      kind: 'file',
      display: 'https://none.test/a',
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
    assert.equal((await cancel(opened.id))[0], 202);
    const record = await store.readRequest(opened.id);
    assert.deepEqual([record?.status, record?.reason], [499, 'Cancelled']);
    assert.equal((await cancel(opened.id))[0], 202);
  });

  it('cancel: refused for an ended request and for one of another account', async () => {
    const id = await idOf(await start('probe/file', { url: 'https://over.test/a.mp4', only: 'ffprobe' }));
    await api.end(id, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 0 }, asked: [{ name: 'ffprobe' }] });
    assert.deepEqual(await cancel(id), [409, { error: 'the request has ended' }]);

    const theirs = await idOf(await start('probe/file', { url: 'https://theirs.test/a.mp4' }));
    const [other] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions) values ('canceller@example.org', ` +
        `'active', 'user', array['read:media', 'write:media']) returning id`,
    );
    const { token, id: tokenId } = await api.newToken();
    await api.stored.sql('update tokens set user_id = $1 where id = $2', [other!.id, tokenId]);
    for (const path of [theirs, id, '0190a5c1-0000-7000-8000-000000000001', 'not-an-id'])
      assert.deepEqual([path, ...(await cancel(path, token))], [path, 404, { error: 'not found' }]);
    assert.equal(await isGone(theirs), false);
  });
});
