import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cluster, eventually, fixtures, type Cluster, type Envelope } from './fixture.ts';
import { heldUploads, sendFile } from './uploads.ts';

const clip = readFileSync(join(fixtures, 'tiny.mp4'));

describe('a file that is sent with its request', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('has the same results as from an address, and is gone afterwards', async () => {
    const { url } = await c.origin();
    const { status, json } = await sendFile(c, clip, { fields: { 'ffprobe[show_frames]': 'false' } });
    assert.equal(status, 200, JSON.stringify(json));
    const fetched = await c.probe({ url: `${url}/tiny.mp4` });
    const streams = ({ ffprobe }: Envelope) => (ffprobe as { response: { streams: unknown } }).response.streams;
    assert.deepEqual(streams(json), streams(fetched.json));
    assert.equal((json['mediainfo'] as { success: boolean }).success, true);
    assert.ok(!JSON.stringify(json).includes('127.0.0.1'));
    await eventually('no upload is held', 20, async () => (await heldUploads(c)).every(({ files }) => files === 0));
  });

  it('is probed without a waiting caller, too', async () => {
    const { status, json } = await sendFile(c, clip, { headers: { Prefer: 'respond-async' } });
    assert.equal(status, 202);
    const id = json.metadata!.request_id;
    const ended = await eventually('the request has ended', 60, async () => {
      const answer = await c.get(`/v1/probe/${id}`);
      return answer.status !== 202 && answer;
    });
    assert.equal(ended.status, 200, ended.text);
    await eventually('no upload is held', 20, async () => (await heldUploads(c)).every(({ files }) => files === 0));
  });

  it('of 200 MB is read by its tools in parts', async () => {
    // Behind the movie comes data that no tool reads whole.
    const free = Buffer.alloc(200_000_000);
    free.writeUInt32BE(free.length, 0);
    free.write('free', 4, 'latin1');
    const { status, json } = await sendFile(c, Buffer.concat([clip, free]), { fields: { only: 'ffprobe' } });
    assert.equal(status, 200, JSON.stringify(json).slice(0, 500));
    assert.ok(json.metadata!.io_usage < 100_000_000, String(json.metadata!.io_usage));
  });
});
