/** Batches through the whole cluster: many probes by one template, paused and resumed, with a host that fails. */
import assert from 'node:assert/strict';
import type { Batch } from '../../src/api_types.ts';
import { batchEnded, createdBatch, recorded } from './batches.ts';
import { cluster, eventually, type Cluster } from './fixture.ts';

const ITEMS = 100;

describe('a batch on the cluster', function () {
  this.timeout(240_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('probes every file once, rests while it is paused, and counts as the log does', async () => {
    const { url } = await c.origin();
    const { id: tokenId, token } = await c.newToken(8);
    const items = Array.from({ length: ITEMS }, (_, n) => ({
      url: `${url}/tiny.mp4${n === 0 ? '?sig=geheim' : ''}`,
      ref: `asset-${n}`,
    }));
    const { id } = await createdBatch(c, token, { name: 'library', probe: { only: 'ffprobe' }, per_host: 8, items });
    const read = async (): Promise<Batch> => (await c.get(`/v1/batch/${id}`, token)).json as unknown as Batch;
    await eventually('some have ended', 60, async () => (await read()).counts.success >= 5);

    const paused = await c.probe({}, { token, path: `/v1/batch/${id}/pause` });
    assert.equal(paused.status, 202, paused.text);
    const rested = await eventually('nothing runs', 60, async () => {
      const now = await read();
      return now.counts.running === 0 && now;
    });
    assert.ok(rested.state === 'paused' && rested.counts.waiting > 0, JSON.stringify(rested));
    const opened = await recorded(c, tokenId);
    assert.equal(opened.requests, ITEMS - rested.counts.waiting);
    const resumed = await c.probe({}, { token, path: `/v1/batch/${id}/resume` });
    assert.equal(resumed.status, 202, resumed.text);

    const { counts, requests } = await batchEnded(c, token, id, 120);
    assert.deepEqual(counts, { waiting: 0, running: 0, success: ITEMS, 'with-errors': 0, error: 0, skipped: 0 });
    assert.equal(requests, ITEMS);
    assert.deepEqual(await recorded(c, tokenId), { requests: ITEMS, ids: ITEMS, used: ITEMS });
    const { json } = await c.get(`/v1/batch/${id}/items?limit=1000`, token);
    const [item] = json['items'] as { ref: string; request_id: string; url: string }[];
    assert.equal(item!.ref, 'asset-0');
    assert.ok(!JSON.stringify(json).includes('geheim'), 'queries are hidden');
    const result = await c.get(`/v1/probe/${item!.request_id}`, token);
    assert.equal(result.status, 200, result.text);
  });

  it('reads small files in chunks, each with a request of its own', async () => {
    const { url } = await c.origin();
    const { id: tokenId, token } = await c.newToken(8);
    const items = Array.from({ length: 2 * ITEMS }, () => `${url}/tiny.mp4`);
    const { id } = await createdBatch(c, token, { probe: { only: 'ffprobe' }, per_host: 8, items });
    const { counts, requests } = await batchEnded(c, token, id, 180);
    assert.deepEqual([counts.success, requests], [items.length, items.length]);
    assert.deepEqual(await recorded(c, tokenId), { requests: items.length, ids: items.length, used: items.length });
    // The ids of a chunk differ in the last byte.
    const jobs = await c.sql(`select count(distinct left(id::text, 34)) from requests where token_id = ${tokenId}`);
    assert.ok(Number(jobs) < ITEMS, `${jobs} jobs`);
  });

  it('tries an unwell host again, and says what failed for good', async () => {
    let asked = 0;
    const origin = await c.origin((_request, response) => {
      asked += 1;
      response.writeHead(503).end('not now');
    });
    const { url } = await c.origin();
    const { token } = await c.newToken(4);
    const items = [`${origin.url}/a.mp4`, `${url}/tiny.mp4`, `${url}/missing.mp4`];
    const { id } = await createdBatch(c, token, { probe: { only: 'ffprobe' }, tries: 2, items });
    const { counts, requests, errors } = await batchEnded(c, token, id, 120);
    assert.deepEqual([counts.success, counts.error + counts['with-errors']], [1, 2], JSON.stringify(counts));
    assert.equal(requests, 4, 'one of them had a second try');
    assert.ok(asked >= 2);
    assert.deepEqual(errors.map(({ code }) => code).sort(), ['http-404', 'http-503']);
  });

  it('skips what waits when it is cancelled', async () => {
    const slow = await c.origin((_request, response) => void setTimeout(() => response.writeHead(404).end(), 2_000));
    const { token } = await c.newToken(2);
    const items = Array.from({ length: 50 }, (_, n) => `${slow.url}/${n}.mp4`);
    const { id } = await createdBatch(c, token, { probe: { only: 'ffprobe' }, items });
    const cancelled = await c.probe({}, { token, path: `/v1/batch/${id}/cancel` });
    assert.equal(cancelled.status, 202, cancelled.text);
    const { counts, reason } = await batchEnded(c, token, id, 60);
    assert.ok(counts.skipped > 40 && counts.waiting + counts.running === 0, JSON.stringify(counts));
    assert.equal(reason, 'Cancelled');
  });
});
