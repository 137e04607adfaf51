import assert from 'node:assert/strict';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { startCluster, type Cluster } from '../controller/cluster_parts.ts';
import { startRelay } from '../kube/relay.ts';
import { until } from '../until.ts';
import { seeded } from './pairs.ts';
import { partLoad, reckon } from './part_reckoning.ts';

const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 100_000));

/** A client that lags on purpose. Of the events of its watches, some are late and some are dropped. */
function lagging(
  kube: KubeClient,
  { drop, lateMs, on }: { drop: number; lateMs: number; on: () => boolean },
  random: () => number,
): { kube: KubeClient; dropped: () => number } {
  let dropped = 0;
  const watch: KubeClient['watch'] = async (type, options, onEvent) => {
    // In order, as over a slow connection.
    let last: Promise<void> = Promise.resolve();
    await kube.watch(type, options, (event) => {
      if (!on() || event.type === 'BOOKMARK') {
        last = last.then(() => onEvent(event));
        return;
      }
      if (random() < drop) {
        dropped += 1;
        return;
      }
      const due = new Promise<void>((resolve) => {
        setTimeout(resolve, random() * lateMs);
      });
      last = Promise.all([last, due]).then(() => {
        if (options.signal?.aborted !== true) onEvent(event);
      });
    });
    await last;
  };
  return { kube: { ...kube, watch }, dropped: () => dropped };
}

describe(`the watch is frozen, or loses events (seed ${SEED})`, function () {
  this.timeout(150_000);
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 12, maxPods: 24 } } });
  });
  afterEach(() => cluster.stop());
  const ready = () =>
    until('runners are ready', () => cluster.runners.all().filter(({ state }) => state.epoch > 0).length >= 12, 20_000);

  it('with a fifth of all events lost and the rest late, 200 jobs on 5 tokens have one end each', async () => {
    const { controller, runners, kube } = cluster;
    const state = { lags: false };
    const slow = lagging(kube, { drop: 0.2, lateMs: 300, on: () => state.lags }, seeded(SEED));
    const { log } = await controller({ kube: slow.kube });
    await ready();
    runners.behaviour.go = () => ({ ms: 30 });
    state.lags = true;
    const load = await partLoad(cluster, 200, { announce: true });
    const { ends, most } = await reckon(cluster, load, 90_000);
    const relists = log.filter(
      ({ msg }) => msg === 'the cache of ProbeJobs is behind the API server, listing them again',
    ).length;
    console.log(
      `      ${slow.dropped()} events lost, jobs read anew ${relists} times, at ` +
        `most ${most} of a token at once, ends ${JSON.stringify(ends)}`,
    );
    assert.ok(slow.dropped() > 20);
    assert.ok(relists > 0);
    assert.deepEqual(ends, { Completed: 200 });
  });

  it('its bytes stop on an open connection, and jobs that it does not show run within seconds', async () => {
    const {
      controller,
      runners,
      namespace,
      servers: { api },
      submit,
      ended,
    } = cluster;
    const relay = await startRelay(api.host, api.port);
    const kube = await kubeClient({ kubeconfig: api.kubeconfigAt(relay.port), namespace });
    try {
      const { log } = await controller({ kube });
      await ready();
      runners.behaviour.go = () => ({ ms: 30 });
      await ended((await submit({ announce: true })).id);
      relay.freeze();
      const { ends, most } = await reckon(cluster, await partLoad(cluster, 60, { announce: true }), 60_000);
      assert.ok(log.some(({ msg }) => msg === 'the cache of ProbeJobs is behind the API server, listing them again'));
      assert.deepEqual(ends, { Completed: 60 });
      console.log(`      at most ${most} of a token at once`);
    } finally {
      await cluster.stop();
      await kube.close();
      await relay.close();
    }
  });

  it('a job without any other notice gets its end when its queue timeout has passed', async () => {
    const { controller, submit, kube, ended } = cluster;
    const state = { lags: false };
    const deaf = lagging(kube, { drop: 1, lateMs: 0, on: () => state.lags }, seeded(SEED));
    await controller({ kube: deaf.kube });
    await ready();
    state.lags = true;
    const { id } = await submit({ queueTimeoutMs: 500 });
    await until('the end is recorded', async () => (await cluster.record(id)).state !== 'open', 40_000);
    // Late, but recorded. The job ran if a runner was free by then.
    assert.match((await ended(id))[0]?.reason ?? '', /^(QueueTimeout|Completed)$/);
  });
});
