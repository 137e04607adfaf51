import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PODS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, eventually, fixtures, type Cluster } from '../cluster/fixture.ts';
import { heldUploads, sendFile } from '../cluster/uploads.ts';
import { replicasReady } from './injections.ts';
import { pidsOf, settled } from './load.ts';
import { wholeCluster } from './whole.ts';

const clip = readFileSync(join(fixtures, 'tiny.mp4'));

describe('the API replica that holds an uploaded file is killed', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());
  const restartsOf = async (pod: string): Promise<number> =>
    ((await c.kube.get(PODS, pod, { namespace: NAMESPACE })).status?.containerStatuses ?? []).reduce(
      (sum, { restartCount }) => sum + restartCount,
      0,
    );

  it('its request ends with 500 and asks to send the file again, which then works', async () => {
    const { token } = await c.newToken(1);
    // The only slot of the token, so that the file waits.
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let isRead = false;
    const origin = await c.origin((_, response) => {
      isRead = true;
      void held.then(() => response.writeHead(404).end());
    });
    // Its caller may wait at the replica that is killed.
    const first = c.probe({ url: `${origin.url}/slow.mp4` }, { token }).catch(() => {});
    try {
      await eventually('the slot is taken', 30, () => isRead);
      const { status, json } = await sendFile(c, clip, { token, headers: { Prefer: 'respond-async' } });
      assert.equal(status, 202);
      const { pod } = await eventually('a replica holds the file', 30, async () =>
        (await heldUploads(c)).find(({ files }) => files > 0),
      );
      const restarts = await restartsOf(pod);
      for (const pid of pidsOf('PY_POD_NAME', pod)) process.kill(pid, 'SIGKILL');
      await replicasReady(c, 'api');
      release();
      await first;
      const ended = await eventually('the request has ended', 90, async () => {
        const answer = await c.get(`/v1/probe/${json.metadata!.request_id}`, token);
        return answer.status !== 202 && answer;
      });
      assert.equal(ended.status, 500, ended.text);
      assert.match(ended.text, /the uploaded file was lost with the server that held it; send it again/);
      // Until the kubelet has seen its end, the killed one is counted as ready, and callers are led to it.
      await eventually('its container is restarted', 60, async () => (await restartsOf(pod)) > restarts);
      await replicasReady(c, 'api');
      const again = await sendFile(c, clip, { token });
      assert.equal(again.status, 200, again.text);
      await eventually('no upload is held', 30, async () => (await heldUploads(c)).every(({ files }) => files === 0));
    } finally {
      release();
    }
    await settled(c);
  });
});
