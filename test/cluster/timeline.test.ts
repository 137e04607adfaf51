/** A timeline through the whole cluster. */
import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { StreamTimeline } from '../../src/media/timeline/schema.ts';
import { cluster, NAMESPACE, type Cluster } from './fixture.ts';

interface Packets {
  packets: { stream_index: number; size: string }[];
}

describe('a timeline on the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  const timelineOf = async (id: string) => {
    const { status, json, text } = await c.get(`/v1/probe/${id}/timeline`);
    return { status, text, ...(json as unknown as { streams: StreamTimeline[]; until?: number; cut?: string }) };
  };

  it('agrees with the packets of the same ffprobe, and counts as usage', async () => {
    const { url } = await c.origin();
    const source = { url: `${url}/tiny.mp4`, only: 'ffprobe' };
    const { json, text } = await c.probe({ ...source, timeline: { enabled: true } });
    const { success, usage } = json['timeline'] as { success: boolean; usage: number };
    assert.ok(success && usage > 0, text);
    const id = json.metadata!.request_id;
    const { status, streams, until } = await timelineOf(id);
    assert.deepEqual([status, until], [200, undefined]);
    const listed = await c.probe({ ...source, ffprobe: { show_packets: true } });
    const { packets } = (listed.json['ffprobe'] as { response: Packets }).response;
    for (const { index, packets: count, bytes } of streams) {
      const own = packets.filter(({ stream_index: stream }) => stream === index);
      assert.deepEqual([count, bytes], [own.length, own.reduce((sum, { size }) => sum + Number(size), 0)]);
    }
    const recorded = Number(await c.sql(`select usage_ms from requests where id = '${id}'`));
    assert.ok(recorded >= usage, `${recorded} ms recorded, ${usage} ms of the timeline`);
    const job = await c.kubectl('-n', NAMESPACE, 'get', 'pj', id, '-o', 'jsonpath={.spec.timeline.enabled}');
    assert.equal(job, 'true');
  });

  it('of a job made with kubectl is stored, too', async () => {
    const { url } = await c.origin();
    const name = `timeline-${Date.now()}`;
    await c.kube.create(
      PROBE_JOBS,
      {
        metadata: { name, namespace: NAMESPACE },
        spec: { kind: 'file', source: { url: `${url}/tiny.mp4` }, timeline: { enabled: true } },
      },
      { namespace: NAMESPACE },
    );
    await c.kubectl('-n', NAMESPACE, 'wait', `pj/${name}`, '--for=condition=Succeeded', '--timeout=60s');
    const { metadata } = await c.kube.get(PROBE_JOBS, name, { namespace: NAMESPACE });
    const { status, streams, text } = await timelineOf(metadata.uid!);
    assert.equal(status, 200, text);
    assert.equal(streams[0]?.codec, 'h264');
    await c.kube.delete(PROBE_JOBS, name, { namespace: NAMESPACE });
  });

  it('was not requested: 404 says so', async () => {
    const { url } = await c.origin();
    const { json } = await c.probe({ url: `${url}/tiny.mp4`, only: 'ffprobe' });
    const { status, text } = await timelineOf(json.metadata!.request_id);
    assert.deepEqual([status, JSON.parse(text)], [404, { error: 'no timeline was requested' }]);
  });
});
