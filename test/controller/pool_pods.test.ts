/** What the pods of a pool are to the cluster: who owns them, and what an eviction does. */
import assert from 'node:assert/strict';
import { CONFIG_MAPS, PROBE_POOLS } from '../../src/kube/client.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster, type ClusterOptions } from './cluster_parts.ts';

describe('pods of a pool', function () {
  this.timeout(90_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const start = async (options: ClusterOptions = {}): Promise<Cluster> => {
    cluster = await startCluster(options);
    return cluster;
  };
  const condition = async (type: string) => (await cluster.kube.get(PROBE_POOLS, 'short')).status?.conditions?.find((one) => one.type === type);
  const ready = (count: number) => until(`${count} runners are ready`, () => cluster.runners.all().filter(({ state }) => state.epoch > 0).length >= count, 20_000);

  it('have the ConfigMap of the release as their controller, and are not made without it', async () => {
    const { controller, kube, runnerNamespace, pods } = await start({ pools: { short: { minReady: 1 } } });
    await controller({ env: { PY_RUNNER_OWNER: 'probeyard-runners' } });
    await until('the status says why there is none', async () => (await condition('Ready'))?.reason === 'OwnerMissing', 20_000);
    assert.deepEqual(await pods(), []);
    const { metadata } = await kube.create(CONFIG_MAPS, { metadata: { name: 'probeyard-runners', namespace: runnerNamespace } });
    const [pod] = await until('a pod is made', async () => {
      const made = await pods();
      return made.length > 0 ? made : undefined;
    }, 20_000);
    assert.deepEqual(pod?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'probeyard-runners', uid: metadata.uid, controller: true }]);
  });

  it('an eviction through the API runs the job again on another runner', async () => {
    const { controller, submit, ended, runners, kube, runnerNamespace, job } = await start({ pools: { short: { minReady: 2 } }, runners: { go: () => 'hold' } });
    await controller();
    await ready(2);
    const { id } = await submit();
    const first = await until('it runs', () => runners.of(id));
    runners.behaviour.go = () => ({ ms: 5 });
    await kube.request({
      method: 'POST', path: `/api/v1/namespaces/${runnerNamespace}/pods/${first.pod}/eviction`, what: 'evict the runner',
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: first.pod, namespace: runnerNamespace } },
    });
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 2);
    assert.notEqual(job(id)?.status?.runner?.uid, first.uid);
  });
});
