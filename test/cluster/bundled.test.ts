import assert from 'node:assert/strict';
import { buildAll } from '../../images/build.ts';
import { PODS, PROBE_POOLS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import { hasNode } from './broken_images.ts';
import { buildParts } from '../node/build.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, type Cluster } from './fixture.ts';
import { openRelease, type Release } from './helm.ts';
import { NODE } from '../node/layout.ts';
import { NODE_PARTS } from '../node/parts.ts';
import { deliverImages } from '../node/product_images.ts';
import { unlessLong } from '../long.ts';

const isAvailable = ({ status }: ProbeTool): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') ?? false;

describe('tools delivered in one bundled image', function () {
  this.timeout(420_000);
  let c: Cluster;
  let release: Release;
  let digest: string;
  let token: string;
  let source: string;
  let bundled = false;

  const tools = async (): Promise<ProbeTool[]> => (await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE })).items;
  const proofs = async (): Promise<Map<string, string>> =>
    new Map((await tools()).map(({ metadata, status }) => [metadata.name, status?.proof ?? '']));
  const runners = async () =>
    (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })).items;

  /** Every tool is Available by another proof than before. */
  const provenAgain = (before: ReadonlyMap<string, string>) =>
    eventually('every tool is proven again', 150, async () => {
      const now = await tools();
      return (
        now.length === before.size &&
        now.every((tool) => isAvailable(tool) && tool.status?.proof !== before.get(tool.metadata.name)) &&
        now
      );
    });

  /** The pods of every pool have the pool's generation and the current delivery. */
  const rolled = (isDelivered: (volumes: { image?: object }[]) => boolean) =>
    eventually('the pools have rolled', 120, async () => {
      const generations = new Map(
        (await c.kube.listAll(PROBE_POOLS, { namespace: NAMESPACE })).items.map(({ metadata, status }) => [
          metadata.name,
          status?.generation,
        ]),
      );
      const pods = await runners();
      return (
        pods.length >= generations.size &&
        pods.every(
          ({ metadata, spec }) =>
            metadata.labels?.[LABEL.generation] === generations.get(metadata.labels?.[LABEL.pool] ?? '') &&
            isDelivered(spec?.volumes ?? []),
        )
      );
    });

  async function probesEvery(): Promise<void> {
    for (const { spec } of await tools()) {
      // The caller cannot choose the version of the C2PA check.
      const options = spec.tool === 'c2pa' ? {} : { [spec.tool]: { version: spec.version } };
      const { status, json, text } = await c.probe({ url: source, only: spec.tool, ...options }, { token });
      assert.equal(status, 200, text);
      assert.equal(
        (json[spec.tool] as { success?: boolean }).success,
        true,
        `${spec.tool} ${spec.version}: ${text.slice(0, 500)}`,
      );
    }
  }

  before(async function () {
    unlessLong(this, 'every tool is proven twice, which takes two minutes');
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    c = await cluster();
    release = await openRelease(c.kubeconfig);
    ({ token } = await c.newToken());
    source = `${(await c.origin()).url}/tiny.mp4`;
    const image = (await buildAll({ only: ['bundled'] })).find(({ kind }) => kind === 'bundled');
    assert.ok(image, 'the bundled image is built');
    await deliverImages(NODE, await buildParts(NODE_PARTS), [image]);
    digest = image.digest;
  });
  after(async () => {
    if (bundled) await release.upgrade();
    await release?.close();
    await c?.close();
  });

  it('are proven in it, and every version runs in pods that mount no image', async () => {
    const before = await proofs();
    bundled = true;
    await release.upgrade('tools.delivery=bundled', `tools.bundled.digest=${digest}`);
    await provenAgain(before);
    await rolled((volumes) => volumes.every(({ image }) => image === undefined));
    for (const { spec } of await runners())
      assert.match(
        spec?.containers.find(({ name }) => name === 'tools')?.image ?? '',
        new RegExp(`/bundled@${digest}$`),
      );
    await probesEvery();
  });

  it('are delivered in separate images again afterwards', async () => {
    const before = await proofs();
    await release.upgrade();
    await provenAgain(before);
    await rolled((volumes) => volumes.some(({ image }) => image !== undefined));
    bundled = false;
  });
});
