/** Content checks through the whole cluster. */
import assert from 'node:assert/strict';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { cluster, type Cluster } from './fixture.ts';

interface Part {
  success: boolean;
  usage: number;
  response: QcReport;
}

describe('content checks on the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('decode the pictures and the sound of a file', async () => {
    const { url } = await c.origin();
    const { json, text } = await c.probe({ url: `${url}/tiny.mp4`, only: 'qc', qc: { silence_min: 0.5 } });
    const { success, usage, response } = json['qc'] as Part;
    assert.ok(success && usage > 0, text);
    const { video, audio, thresholds, until, unread_lines: unread } = response;
    assert.deepEqual([video.length, audio.length, until, unread], [1, 1, undefined, 0]);
    for (const { decoded, duration_differs: differs } of [...video, ...audio])
      assert.ok(decoded! > 0 && !differs, text);
    assert.equal(thresholds.silence_min, 0.5);
  });

  it('do not run unless they are asked for', async () => {
    const { url } = await c.origin();
    const { json } = await c.probe({ url: `${url}/tiny.mp4` });
    assert.equal(json['qc'], undefined);
  });
});
