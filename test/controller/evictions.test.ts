/** Runners at long jobs are not evicted: what the controller writes, and what the API server then refuses. */
import assert from 'node:assert/strict';
import { evictions, holdPatch, HOLD_AFTER_MS, MAX_WRITES } from '../../src/service/controller/pools/evictions.ts';
import { PODS, isKubeError, type KubeClient } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { render } from '../chart/render.ts';
import { startControllers, type ControllerManager } from '../kube/controller_manager.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';

const DRAIN_MS = 645_000;
const runner = (job?: string, more: { deleting?: boolean; seenAt?: number | undefined } = {}) => ({
  podUid: 'u',
  pod: 'p',
  pool: 'msv',
  task: job === undefined ? undefined : { job, attempt: 1, doneBefore: 0, reserved: false },
  deleting: false,
  seenAt: 0,
  ...more,
});
type Step = [at: number, runner: ReturnType<typeof runner>];

/** Every change is written at once. Returns the changes as `time hold`. */
function play(steps: Step[], { held = false, holdMs = DRAIN_MS } = {}): string[] {
  const state = evictions();
  state.seen('u', held);
  return steps.flatMap(([at, one]) =>
    state
      .due([one], () => holdMs, at)
      .map(({ uid, hold }) => {
        state.written({ uid, hold });
        return `${at} ${hold ? 'hold' : 'release'}`;
      }),
  );
}

describe('evictions: which runners hold their nodes', () => {
  const LATER = HOLD_AFTER_MS;
  const cases: [string, Step[], string[], { held?: boolean; holdMs?: number }?][] = [
    [
      'an idle runner causes no write',
      [
        [0, runner()],
        [60_000, runner()],
      ],
      [],
    ],
    [
      'a job that ends sooner causes no write',
      [
        [0, runner('a')],
        [LATER - 1, runner('a')],
        [LATER, runner()],
      ],
      [],
    ],
    [
      'job after job causes no write while each ends sooner',
      [
        [0, runner('a')],
        [6_000, runner('b')],
        [12_000, runner('c')],
        [18_000, runner('d')],
      ],
      [],
    ],
    [
      'a longer job causes two',
      [
        [0, runner('a')],
        [LATER, runner('a')],
        [90_000, runner('a')],
        [91_000, runner()],
        [92_000, runner()],
      ],
      [`${LATER} hold`, '91000 release'],
    ],
    [
      'between two long jobs an eviction is possible',
      [
        [0, runner('a')],
        [LATER, runner('a')],
        [60_000, runner('b')],
        [60_000 + LATER, runner('b')],
      ],
      [`${LATER} hold`, '60000 release', `${60_000 + LATER} hold`],
    ],
    [
      'no job holds longer than the drain would wait for it',
      [
        [0, runner('a')],
        [LATER, runner('a')],
        [DRAIN_MS, runner('a')],
        [DRAIN_MS + 1_000, runner('a')],
      ],
      [`${LATER} hold`, `${DRAIN_MS} release`],
    ],
    [
      'a pool with short drains never holds',
      [
        [0, runner('a')],
        [60_000, runner('a')],
      ],
      [],
      { holdMs: 0 },
    ],
    ['a pod that is being deleted is left alone', [[0, runner('a', { deleting: true })]], [], { held: true }],
    [
      'a new leader keeps the hold of a job that goes on',
      [
        [0, runner(undefined, { seenAt: undefined })],
        [2_000, runner('a')],
        [60_000, runner('a')],
        [61_000, runner()],
      ],
      ['61000 release'],
      { held: true },
    ],
    ['a new leader releases an idle runner', [[0, runner()]], ['0 release'], { held: true }],
  ];
  for (const [title, steps, expected, options] of cases)
    it(title, () => assert.deepEqual(play(steps, options), expected));

  it('a write that is answered after its pod has gone leaves nothing', () => {
    const state = evictions();
    state.seen('u', false);
    state.gone('u');
    state.written({ uid: 'u', hold: true });
    assert.deepEqual(
      state.due([runner()], () => DRAIN_MS, 0),
      [],
    );
  });

  it('writes a bounded number at once, releases first', () => {
    const state = evictions();
    const all = Array.from({ length: 3 * MAX_WRITES }, (_, n) => ({ ...runner(`j${n}`), podUid: `u${n}` }));
    assert.deepEqual(
      state.due(all, () => DRAIN_MS, 0),
      [],
    );
    state.seen('idle', true);
    const changes = state.due([...all, { ...runner(), podUid: 'idle' }], () => DRAIN_MS, LATER);
    assert.equal(changes.length, MAX_WRITES);
    assert.deepEqual(changes[0], { uid: 'idle', pod: 'p', hold: false });
  });
});

describe('evictions on an API server', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  let manager: ControllerManager | undefined;
  afterEach(async () => {
    await manager?.stop();
    manager = undefined;
    await cluster?.stop();
  });

  const evict = async (pod: string): Promise<'evicted' | 'refused'> => {
    const namespace = cluster.runnerNamespace;
    try {
      await cluster.kube.request({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`,
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } },
      });
      return 'evicted';
    } catch (error) {
      if (isKubeError(error, 'too-many-requests') && /disruption budget/.test(error.message)) return 'refused';
      throw error;
    }
  };

  it('a runner at a long job is not evicted until the job has ended, an idle one is', async () => {
    cluster = await startCluster({
      pools: { short: { minReady: 1, drainSeconds: 645 } },
      runners: { go: () => 'hold' },
    });
    const { kube, runnerNamespace: namespace, runners, submit, controller } = cluster;
    const [budget] = render({ runners: { namespace } }).filter(
      ({ kind, metadata }) => kind === 'PodDisruptionBudget' && metadata.name.endsWith('-long-jobs'),
    );
    const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
    await kube.request({ method: 'POST', path, body: budget! });
    manager = startControllers(cluster.servers.api, ['disruption']);
    const patched: string[] = [];
    const writes: KubeClient = {
      ...kube,
      mergePatch: (type, name, ...rest) => {
        if (type.kind === 'Pod') patched.push(name);
        return kube.mergePatch(type, name, ...rest);
      },
    };
    await controller({ writes });
    const { id } = await submit();
    const busy = await until('the job runs', () => runners.of(id));
    const idle = await until('another runner is ready', () =>
      runners.all().find(({ pod, state }) => pod !== busy.pod && state.epoch > 0),
    );
    // As the kubelet reports it: only healthy pods are protected.
    for (const { pod } of [busy, idle])
      await kube.mergePatchStatus(
        PODS,
        pod,
        {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }],
        },
        { namespace },
      );
    const labelled = () =>
      kube.get(PODS, busy.pod, { namespace }).then(({ metadata }) => metadata.labels?.[LABEL.longJob] === 'true');
    await until('it holds its node', labelled, 30_000);
    const { annotations } = (await kube.get(PODS, busy.pod, { namespace })).metadata;
    assert.equal(annotations?.['cluster-autoscaler.kubernetes.io/safe-to-evict'], 'false');
    assert.equal(annotations['karpenter.sh/do-not-disrupt'], 'true');
    const status = async () =>
      (
        (await kube.request({ method: 'GET', path: `${path}/${budget!.metadata.name}` })) as {
          status?: {
            expectedPods?: number;
            currentHealthy?: number;
            disruptionsAllowed?: number;
            conditions?: unknown[];
          };
        }
      ).status;
    await until('the budget counts it', async () => (await status())?.currentHealthy === 1, 30_000);
    assert.deepEqual([(await status())?.expectedPods, (await status())?.disruptionsAllowed], [1, 0]);
    assert.equal(await evict(busy.pod), 'refused');
    assert.equal(await evict(idle.pod), 'evicted');
    await busy.finish();
    await cluster.ended(id);
    await until('it holds its node no longer', async () => !(await labelled()));
    const free = (await kube.get(PODS, busy.pod, { namespace })).metadata.annotations;
    assert.equal(free?.['cluster-autoscaler.kubernetes.io/safe-to-evict'], 'true');
    assert.equal(free['karpenter.sh/do-not-disrupt'], undefined);
    assert.equal(await evict(busy.pod), 'evicted');
    assert.deepEqual(patched, [busy.pod, busy.pod]);
  });

  it('the patch of a pod does not reach another pod of the same name', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 1 } } });
    const { kube, runnerNamespace: namespace, controller, pods } = cluster;
    await controller();
    const [pod] = await until('there is a runner', async () => {
      const all = await pods();
      return all.length > 0 ? all : undefined;
    });
    await assert.rejects(
      kube.mergePatch(PODS, pod!.metadata.name, holdPatch({ uid: 'another', hold: true }), { namespace }),
      { code: 'invalid', message: /uid/ },
    );
  });
});
