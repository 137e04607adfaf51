/** Pods of a pool in the cluster: their owner, their eviction, the walls around them. */
import assert from 'node:assert/strict';
import { SUBJECT, type Lease, RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { CONFIG_MAPS, EVENTS, PROBE_POOLS, type KubeClient, type Pod } from '../../src/platform/kube/client.ts';
import { heartbeatOf, initialState } from '../../src/service/runner/orders.ts';
import { until } from '../until.ts';
import { clusterOfEach } from './cluster_parts.ts';

describe('pods of a pool', function () {
  this.timeout(90_000);
  const { start, led, current } = clusterOfEach();
  const condition = async (type: string) =>
    (await current().kube.get(PROBE_POOLS, 'short')).status?.conditions?.find((one) => one.type === type);
  const ready = (count = 1) => current().ready(count, 20_000);

  it('are owned by the ConfigMap of the release, and not created without it', async () => {
    const { controller, kube, runnerNamespace, pods } = await start({ pools: { short: { minReady: 1 } } });
    await controller({ env: { PY_RUNNER_OWNER: 'probeyard-runners' } });
    await until(
      'the status says why there is none',
      async () => (await condition('Ready'))?.reason === 'OwnerMissing',
      20_000,
    );
    assert.deepEqual(await pods(), []);
    const { metadata } = await kube.create(CONFIG_MAPS, {
      metadata: { name: 'probeyard-runners', namespace: runnerNamespace },
    });
    const [pod] = await until(
      'a pod is made',
      async () => {
        const made = await pods();
        return made.length > 0 ? made : undefined;
      },
      20_000,
    );
    assert.deepEqual(pod?.metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'probeyard-runners', uid: metadata.uid, controller: true },
    ]);
  });

  it('a runner that reports to a new leader before it knows its pools is kept', async () => {
    const { controller, submit, ended, runners, kube, pods, job } = await start({ pools: { short: { minReady: 0 } } });
    const first = await controller();
    const { id } = await submit();
    await ended(id);
    const used = await until('it waits for another job', () =>
      runners.all().find(({ state }) => state.tenant !== undefined && state.task === undefined),
    );
    await first.stop();
    const mergePatchStatus: KubeClient['mergePatchStatus'] = async (type, name, change, options) => {
      // The first thing that a term writes, before it plans.
      if (type.kind === PROBE_POOLS.kind && 'epoch' in change) await used.beat();
      return kube.mergePatchStatus(type, name, change, options);
    };
    await controller({ epoch: 2, writes: { ...kube, mergePatchStatus } });
    assert.equal(used.state.epoch, 2);
    const { id: next } = await submit();
    await ended(next);
    assert.equal(job(next)?.status?.runner?.uid, used.uid);
    assert.ok((await pods()).some(({ metadata }) => metadata.name === used.pod && !metadata.deletionTimestamp));
  });

  it('are deleted and counted once, however often their end is asked for or seen', async () => {
    const { term, calls, pods } = await led({ minReady: 2 });
    const [asked, over] = (await pods()) as [Pod, Pod];
    const failed: Pod = { ...over, status: { ...over.status, phase: 'Failed' } };
    for (let time = 0; time < 3; time++) {
      term.pools.endPod(asked.metadata.uid!, 'epoch');
      term.podSeen(failed, false);
    }
    const { values } = await term.deps.metrics.registry.getSingleMetric('probeyard_runner_pods_ended_total')!.get();
    const counted = values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels['why'], value]);
    assert.deepEqual(counted, [
      ['epoch', 1],
      ['ended', 1],
    ]);
    assert.equal(calls.filter(({ what }) => what === 'delete Pod').length, 2);
  });

  it('an eviction through the API runs the job again on another runner', async () => {
    const { controller, submit, ended, runners, kube, runnerNamespace, job } = await start({
      pools: { short: { minReady: 2 } },
      runners: { go: () => 'hold' },
    });
    await controller();
    await ready(2);
    const { id } = await submit();
    const first = await until('it runs', () => runners.of(id));
    runners.behaviour.go = () => ({ ms: 5 });
    await kube.request({
      method: 'POST',
      path: `/api/v1/namespaces/${runnerNamespace}/pods/${first.pod}/eviction`,
      what: 'evict the runner',
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: first.pod, namespace: runnerNamespace } },
    });
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 2);
    assert.notEqual(job(id)?.status?.runner?.uid, first.uid);
  });

  it('run without a user namespace once the kubelet reports that the node has none, shown by the pool', async () => {
    const { controller, kube, runnerNamespace, pods, setPool, runners, bus } = await start({
      pools: { short: { minReady: 1 } },
      runners: { boot: false },
    });
    await controller();
    const [first] = await until(
      'a pod is made',
      async () => {
        const made = await pods();
        return made.length > 0 ? made : undefined;
      },
      20_000,
    );
    assert.equal(first?.spec?.hostUsers, false);
    const message = 'Failed to create pod sandbox: RuntimeClass handler "" does not support user namespaces';
    await kube.create(EVENTS, {
      metadata: { name: 'sandbox', namespace: runnerNamespace },
      type: 'Warning',
      reason: 'FailedCreatePodSandBox',
      message,
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        name: first?.metadata.name,
        namespace: runnerNamespace,
        uid: first?.metadata.uid,
      },
    } as never);
    await until(
      'a pod without a user namespace takes its place',
      async () => {
        const made = await pods();
        return (
          made.length === 1 && made[0]?.metadata.uid !== first?.metadata.uid && made[0]?.spec?.hostUsers === undefined
        );
      },
      30_000,
    );
    await until('the pool shows it', async () => (await condition('UserNamespace'))?.reason === 'NotSupported');
    assert.deepEqual(
      [(await condition('UserNamespace'))?.status, (await condition('UserNamespace'))?.message],
      ['False', message],
    );
    // Its heartbeats do not prove that nodes have user namespaces: the next pod runs without them, too.
    const [
      {
        metadata: { name: pod, uid = '' },
      },
    ] = (await pods()) as [Pod];
    const identity = { protocol: RUNNER_PROTOCOL, pod, uid, namespace: runnerNamespace, pool: 'short', generation: '' };
    const beat = () =>
      bus.request<Lease>(SUBJECT.heartbeat(uid), heartbeatOf(initialState(0), identity, 0, performance.now()), 1_000);
    await beat();
    await until('it serves', async () => (await kube.get(PROBE_POOLS, 'short')).status?.ready === 1, 20_000);
    runners.behaviour.boot = true;
    await setPool('short', { minReady: 2 });
    const made = await until(
      'a second pod is made',
      async () => {
        await beat();
        const all = await pods();
        return all.length > 1 ? all : undefined;
      },
      20_000,
    );
    assert.deepEqual(
      made.map(({ spec }) => spec?.hostUsers),
      [undefined, undefined],
    );
    assert.equal((await condition('UserNamespace'))?.reason, 'NotSupported');
  });

  it('get no job while they lack a wall that the pool requires', async () => {
    const { controller, submit, ended, reason, runners, runnerNamespace, bus } = await start({
      pools: { short: { minReady: 1, maxPods: 1, isolation: { require: ['SyscallFilter'] } } },
    });
    await controller();
    await ready(1);
    const { id } = await submit();
    await until('the job shows IsolationMissing', () => reason(id) === 'IsolationMissing');
    await until(
      'the pool shows IsolationMissing',
      async () => (await condition('Ready'))?.reason === 'IsolationMissing',
    );
    const runner = runners.all()[0]!;
    const identity = {
      protocol: RUNNER_PROTOCOL,
      pod: runner.pod,
      uid: runner.uid,
      namespace: runnerNamespace,
      pool: 'short',
      generation: '',
    };
    await bus.request<Lease>(
      SUBJECT.heartbeat(runner.uid),
      { ...heartbeatOf(runner.state, identity, 0, performance.now()), walls: { SyscallFilter: true } },
      1_000,
    );
    assert.equal((await ended(id))[0]?.state, 'success');
    await until('the pool shows the wall', async () => (await condition('SyscallFilter'))?.status === 'True');
  });
});
