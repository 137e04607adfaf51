import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { PROBE_POOLS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import { hasNode } from '../cluster/broken_images.ts';
import { run } from '../node/command.ts';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { chart, openRelease, type Release } from '../cluster/helm.ts';
import { NODE } from '../node/layout.ts';
import { containerdSocket } from '../node/runtime.ts';
import { DEPLOYMENTS } from '../cluster/settings_of_controller.ts';
import { settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { rolledOut } from './rollout.ts';
import { wholeCluster } from './whole.ts';

const NEXT_VERSION = '0.999.0';
const NEXT = 'probeyard/probeyard-next';

describe('the chart is upgraded to a new version, and back', function () {
  this.timeout(500_000);
  let c: Cluster;
  let release: Release;
  let next: string;
  const ctr = (...args: string[]) =>
    run(join(import.meta.dirname, '..', '..', '.local', 'bin', 'ctr'), [
      '-a',
      containerdSocket(NODE),
      '-n',
      'k8s.io',
      'images',
      ...args,
    ]);

  before(async function () {
    unlessLong(this);
    if (!hasNode()) {
      console.log(
        '    skipped: another image of the product can be brought to the local node alone, and it does not run here',
      );
      this.skip();
    }
    c = await wholeCluster();
    release = await openRelease(c.kubeconfig);
    next = await mkdtemp(join(tmpdir(), 'probeyard-chart-'));
    await cp(chart, next, { recursive: true });
    const file = join(next, 'Chart.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/^(version|appVersion):.*$/gm, `$1: ${NEXT_VERSION}`));
    const [{ image } = { image: '' }] = (await c.kube.get(DEPLOYMENTS, 'probeyard-api', { namespace: NAMESPACE })).spec
      .template.spec.containers as unknown as { image: string }[];
    await ctr('tag', '--force', image, `localhost/${NEXT}:${NEXT_VERSION}`);
  });
  after(async () => {
    await release?.close();
    if (next) await rm(next, { recursive: true, force: true });
    if (c) await ctr('rm', `localhost/${NEXT}:${NEXT_VERSION}`);
    await c?.close();
  });

  const generations = async () =>
    (await c.kube.listAll(PROBE_POOLS, { namespace: NAMESPACE })).items.map(({ status }) => status?.generation);

  it('every request has one end, whichever version accepted it and whichever ended it', async () => {
    const tools = (await c.kube.listAll(PROBE_TOOLS, { namespace: NAMESPACE })).items;
    assert.deepEqual(
      tools
        .filter(
          ({ status }) => !status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True'),
        )
        .map(({ metadata }) => metadata.name),
      [],
      'every tool is there before',
    );
    const before = await generations();
    let between: unknown[] = [];
    let back = false;
    try {
      const { statuses, total, ms, longestGapMs } = await underLoad(c, async () => {
        await release.upgradeTo(next, `image.repository=${NEXT}`, `image.tag=${NEXT_VERSION}`, 'image.digest=');
        await rolledOut(c, /probeyard-next:/);
        between = await generations();
        await release.upgrade();
        back = true;
        await rolledOut(c, /probeyard\/probeyard@/);
      });
      const { 200: good = 0, 429: late = 0, 500: ours = 0, 503: away = 0, 0: broken = 0 } = statuses;
      assert.equal(good + late + ours + away + broken, total, JSON.stringify(statuses));
      // An upgrade loses no accepted request. While every runner is replaced, some wait too long on a small node.
      assert.ok(good >= total * 0.9, JSON.stringify(statuses));
      console.log(
        `      callers were told ${JSON.stringify(statuses)} in ` +
          `${Math.round(ms / 1000)} s, at most ${Math.round(longestGapMs)} ms without an ` +
          'answer',
      );
    } finally {
      if (!back) await release.upgrade();
    }
    assert.notDeepEqual(between, before, 'the pools were rolled');
    // The generation of a pool changes while its tools are proven again.
    await eventually('the pools are as before', 60, async () => isDeepStrictEqual(await generations(), before));
    await settled(c);
  });
});
