/** Erasing a request of the log by its owner. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isKubeError, PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

describe('erasing a request', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const ask = async (method: string, path: string, token = api.token) => {
    const response = await fetch(`${api.url}${path}`, { method, headers: { Authorization: `Bearer ${token}` } });
    const text = await response.text();
    return { status: response.status, json: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  const logOf = (id: string) => `/frontend/api/v1/media/log/${id}`;
  const erase = async (id: string, token = api.token) => (await ask('DELETE', logOf(id), token)).status;
  const figures = () =>
    api.stored.sql<{ n: string }>(
      'select sum(requests) n, sum(processing_ms) usage, sum(io_bytes) bytes from usage_minute',
    );
  /** The rows of all tables that contain the text. */
  const holding = async (text: string): Promise<string[]> => {
    const found: string[] = [];
    for (const table of ['requests', 'envelopes', 'webhook_outbox', 'idempotency']) {
      const rows = await api.stored.sql(`select t::text row from ${table} t`);
      if (rows.some(({ row }) => String(row).includes(text))) found.push(table);
    }
    return found;
  };
  const probed = async (host: string, end: Parameters<ApiFixture['end']>[1], headers: Record<string, string> = {}) => {
    const body = { url: `https://${host}/private-name.mp4`, webhook_url: 'https://hooks.test/a', only: 'ffprobe' };
    const { metadata } = (await (await api.post(body, { headers })).json()) as { metadata: { request_id: string } };
    await api.end(metadata.request_id, { asked: [{ name: 'ffprobe' }], ...end });
    return metadata.request_id;
  };
  const result = { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 9 };

  it('deletes result, address, options and webhook, and keeps its row and every figure', async () => {
    const key = { 'Idempotency-Key': 'erased' };
    const id = await probed('erase-me.test', { result }, key);
    assert.deepEqual(await holding('private-name'), ['requests']);
    const counted = await figures();
    assert.equal(await erase(id.toUpperCase()), 204);
    assert.deepEqual(await holding('private-name'), []);
    assert.deepEqual(await figures(), counted);
    for (const table of ['envelopes', 'webhook_outbox'])
      assert.deepEqual(await api.stored.sql(`select from ${table}`), [], table);

    const detail = await ask('GET', logOf(id));
    assert.deepEqual(
      [detail.status, detail.json['url'], detail.json['request'], detail.json['ffprobe-response']],
      [200, '', '{"url":""}', undefined],
    );
    assert.equal(detail.json['status'], 'success');
    const read = await ask('GET', `/v1/probe/${id}`);
    assert.deepEqual([read.status, read.json], [404, { error: 'the result has expired' }]);
    await assert.rejects(api.kube.get(PROBE_JOBS, id, { namespace: api.namespace }), (error) =>
      isKubeError(error, 'not-found'),
    );
    assert.equal(await erase(id), 404);

    const again = await probed('erase-me.test', { result }, key);
    assert.notEqual(again, id);
  });

  it('deletes the error of a failed request', async () => {
    const id = await probed('failed.test', {
      close: { status: 404, reason: 'OriginUnreachable', error: 'private words of a server' },
    });
    assert.equal(await erase(id), 204);
    assert.deepEqual(await holding('private words'), []);
    const read = await ask('GET', `/v1/probe/${id}`);
    assert.deepEqual([read.status, read.json], [404, { error: 'the source is not accessible' }]);
  });

  it('is refused while the request is queued or running, and changes nothing', async () => {
    const body = { url: 'https://open.test/private-name.mp4' };
    const response = await api.post(body, { headers: { Prefer: 'respond-async' } });
    const { metadata } = (await response.json()) as { metadata: { request_id: string } };
    assert.equal(await erase(metadata.request_id), 409);
    assert.equal((await ask('GET', `/v1/probe/${metadata.request_id}`)).status, 202);
    assert.equal((await api.job('open.test')).metadata.name, metadata.request_id);
  });

  it("is limited to the caller's requests, and requires write:media", async () => {
    const id = await probed('mine.test', { result });
    const [other] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions) values ('eraser@example.org', ` +
        `'active', 'user', array['read:media', 'write:media']) returning id`,
    );
    const theirs = await api.newToken();
    await api.stored.sql('update tokens set user_id = $1 where id = $2', [other!.id, theirs.id]);
    for (const path of [id, randomUUID(), 'none', '%00', `${id}'`])
      assert.equal(await erase(path, theirs.token), 404, path);
    const reader = await api.newToken();
    await api.stored.sql(`update tokens set permissions = array['read:media'] where id = $1`, [reader.id]);
    assert.equal(await erase(id, reader.token), 403);
    assert.equal((await ask('GET', `/v1/probe/${id}`)).status, 200);
  });
});
