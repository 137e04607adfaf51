/** A queue whose jobs all end at once, as after a time without a leader. */
import assert from 'node:assert/strict';
import { PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { startCluster, stateOf, type Cluster } from './cluster_parts.ts';

const JOBS = 600;
const AT_ONCE = 20;
const QUEUE_TIMEOUT_MS = 1_000;

/** The most calls for single ProbeJobs that ran at once. */
function countedAtOnce(kube: KubeClient): { kube: KubeClient; most: () => number } {
  let running = 0;
  let most = 0;
  const counted =
    <Rest extends unknown[], Out>(call: (type: never, ...rest: Rest) => Promise<Out>) =>
    async (type: never, ...rest: Rest): Promise<Out> => {
      if (type !== (PROBE_JOBS as unknown)) return call(type, ...rest);
      most = Math.max(most, ++running);
      try {
        return await call(type, ...rest);
      } finally {
        running--;
      }
    };
  return {
    most: () => most,
    kube: {
      ...kube,
      get: counted(kube.get as never) as KubeClient['get'],
      mergePatchStatus: counted(kube.mergePatchStatus as never) as KubeClient['mergePatchStatus'],
    },
  };
}

describe('a queue that ends at once', function () {
  this.timeout(180_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  it('sends the API server a bounded number of calls at once, and each job gets its end', async () => {
    cluster = await startCluster({ runners: { boot: false } });
    const { submit, controller, servers, kube, namespace } = cluster;
    const ids: string[] = [];
    const worker = async () => {
      while (ids.length < JOBS) {
        const at = ids.push('') - 1;
        ids[at] = (await submit({ queueTimeoutMs: QUEUE_TIMEOUT_MS })).id;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const lastAt = Date.now();
    await until('all have waited too long', () => Date.now() > lastAt + QUEUE_TIMEOUT_MS);

    const counted = countedAtOnce(kube);
    await controller({ writes: counted.kube, env: { PY_FINISHED_MAX: '10000' } });
    await until(
      'all have an end in Postgres',
      async () => (await servers.stored.store.endsFor(ids)).length === JOBS,
      60_000,
    );
    await until(
      'all have an end in their status',
      async () => (await kube.listAll(PROBE_JOBS, { namespace })).items.every((job) => stateOf(job) === 'QueueTimeout'),
      60_000,
    );
    assert.ok(counted.most() <= 100, `${counted.most()} at once`);
  });
});
