/** A single image that cannot be pulled any more. Runners start without it, and with it again once it is back. */
import assert from 'node:assert/strict';
import { PODS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../cluster/fixture.ts';
import { withoutImages } from './injections.ts';
import { killPod, settled } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

describe('the image of one tool is gone from the node', function () {
  this.timeout(600_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'the tool is proven again twice, which takes minutes');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('the tool is Degraded, runners start without it, and it is restored with its image', async () => {
    const tools = (await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE })).items;
    const available = tools.filter(
      ({ spec, status }) =>
        spec.tool === 'ffprobe' &&
        spec.latest !== true &&
        status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True'),
    );
    const tool = available[0];
    assert.ok(tool, 'no version of ffprobe beside the latest is Available');
    const degraded = async () =>
      (await c.kube.get(PROBE_TOOLS, tool.metadata.name, { namespace: NAMESPACE })).status?.conditions?.find(
        ({ type }) => type === 'Degraded',
      )?.status;
    const runners = async () =>
      (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: 'app.kubernetes.io/component=runner' })).items;
    const isUp = (status: { phase?: string | undefined } | undefined) => status?.phase === 'Running';
    const mounts = (annotations: Record<string, string> | undefined) =>
      annotations?.['probeyard.dev/tools']?.includes(`"${tool.spec.tool}/${tool.spec.version}"`) ?? false;
    const name = tool.spec.image.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    await withoutImages(new RegExp(`^${name}(?:@|$)`), async () => {
      for (const { metadata } of await runners()) await killPod(c, RUNNERS, metadata.name);
      await eventually('the tool is degraded', 120, async () => (await degraded()) === 'True');
      await eventually('a runner is up without it', 120, async () =>
        (await runners()).some(({ metadata, status }) => isUp(status) && !mounts(metadata.annotations)),
      );
    });
    await eventually('it is taken back', 240, async () => (await degraded()) === 'False');
    await eventually('a runner is up with it', 120, async () =>
      (await runners()).some(({ metadata, status }) => isUp(status) && mounts(metadata.annotations)),
    );
    await settled(c);
  });
});
