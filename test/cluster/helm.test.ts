import assert from 'node:assert/strict';
import { PODS, PROBE_POOLS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from './fixture.ts';
import { openRelease, type Release } from './helm.ts';
import { steadyLoad } from './load.ts';
import { DEPLOYMENTS } from './settings_of_controller.ts';

const LASTING = ['api', 'controller', 'nats', 'postgres'];

describe('the release under Helm', function () {
  this.timeout(240_000);
  let c: Cluster;
  let release: Release;
  let token: string;
  let source: string;
  let changed = false;

  before(async () => {
    c = await cluster();
    release = await openRelease(c.kubeconfig);
    ({ token } = await c.newToken());
    source = `${(await c.origin()).url}/tiny.mp4`;
  });
  after(async () => {
    if (changed) await release.upgrade();
    await release.close();
    await c.close();
  });

  /** Every permanent pod with its restarts, and the generations of the pools' pods. */
  async function whatRuns(): Promise<string[]> {
    const { items } = await c.kube.listAll(PODS, {
      namespace: NAMESPACE,
      labelSelector: `${LABEL.component} in (${LASTING.join(',')})`,
    });
    const pods = items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(
        ({ metadata, status }) =>
          `${metadata.labels?.[LABEL.component]} ${metadata.uid} ` +
          `restarts=${status?.containerStatuses?.map(({ restartCount }) => restartCount).join()}`,
      );
    const pools = (await c.kube.listAll(PROBE_POOLS, { namespace: NAMESPACE })).items.map(
      ({ metadata, status }) => `pool ${metadata.name} ${status?.generation}`,
    );
    return [...pods, ...pools].sort();
  }
  const of = (what: readonly string[], ...kinds: string[]): string[] =>
    what.filter((line) => kinds.includes(line.split(' ')[0] ?? ''));

  /** All replicas have the newest template, and none of an older one is left. */
  const rolledOut = (): Promise<true> =>
    eventually('every Deployment has rolled out', 90, async () => {
      const { items } = await c.kube.listAll(DEPLOYMENTS, { namespace: NAMESPACE });
      return (
        items.length >= 2 &&
        items.every(
          ({ metadata, spec, status }) =>
            status?.observedGeneration === metadata.generation &&
            status?.updatedReplicas === spec.replicas &&
            status?.replicas === spec.replicas &&
            status?.readyReplicas === spec.replicas,
        )
      );
    });

  it('passes helm test', async () => {
    const said = await release.test();
    assert.match(said, /Phase:\s+Succeeded/);
    assert.doesNotMatch(said, /Phase:\s+Failed/);
    assert.match(said, /^pass +Probeyard API +it answers at http/m);
    assert.match(said, /^(pass|warn) +NetworkPolicy +(not )?enforced: /m);
    assert.match(said, /^pass +sample +\S+h264-aac\.mp4 was probed$/m);
    for (const title of ['Kubernetes API latency', 'clock', 'DNS', 'kernel', 'system call filter', 'image volumes'])
      assert.match(said, new RegExp(`^pass +${title} `, 'm'), title);
  });

  it('an upgrade without changes restarts nothing', async () => {
    const before = await whatRuns();
    assert.equal(of(before, 'api').length, 2);
    await release.upgrade();
    await rolledOut();
    assert.deepEqual(await whatRuns(), before);
  });

  for (const [title, settings] of [
    ['an upgrade to another log level', ['logLevel=debug']],
    ['the upgrade back', []],
  ] as const) {
    it(`${title} replaces API and controllers without a failed request, and changes nothing else`, async () => {
      const before = await whatRuns();
      const load = steadyLoad(3, () => c.probe({ url: source }, { token }));
      changed = true;
      try {
        await release.upgrade(...settings);
        await rolledOut();
      } finally {
        assert.deepEqual(await load.stop(), [], `of ${load.answered} requests`);
      }
      changed = settings.length > 0;
      console.log(`        ${load.answered} requests were answered meanwhile`);
      const now = await whatRuns();
      assert.deepEqual(of(now, 'nats', 'postgres', 'pool'), of(before, 'nats', 'postgres', 'pool'));
      for (const line of of(before, 'api', 'controller')) assert.ok(!now.includes(line), `${line} was not replaced`);
      assert.deepEqual([of(now, 'api').length, of(now, 'controller').length], [2, 2]);
    });
  }
});
