/** Creates and ends the pods of a pool as planned. */
import { PODS, PROBE_POOLS, isKubeError } from '../../../platform/kube/client.ts';
import { runnerFields } from '../../../base/log.ts';
import { lackedWalls } from './isolation.ts';
import { planPool, type PoolPlan } from './plan.ts';
import { podSuffix, runnerPod } from './pod.ts';
import { OwnerMissing, type OwnerReference } from './pod_owner.ts';
import { endPod, holdBack, whyRefused } from './pods.ts';
import { now, type PoolState, type PoolsState } from './pools_state.ts';
import { renewRunner } from './renew.ts';
import { wantsUserNamespace } from './user_namespaces.ts';

/** A created pod that the watch has not shown by then does not exist, or no longer. */
const UNSEEN_MS = 60_000;

export async function carryOut(pools: PoolsState, state: PoolState): Promise<void> {
  if (state.planning) {
    state.again = true;
    return;
  }
  if (!pools.deps.stillLeading()) return;
  state.planning = true;
  try {
    if (state.draining) return await drain(pools, state);
    const { create, end, renew } = planned(pools, state);
    for (const { runner, why } of renew) void renewRunner(pools, state, runner, why);
    for (const { runner, why } of end) endPod(pools, runner.uid, why);
    if (create > 0) await Promise.all(Array.from({ length: create }, () => createPod(pools, state)));
  } finally {
    state.planning = false;
    if (state.again) {
      state.again = false;
      pools.plan(state);
    }
  }
}

function planned(pools: PoolsState, state: PoolState): PoolPlan {
  const { runners, demand } = pools.deps;
  const name = state.pool.metadata.name;
  const at = now();
  for (const [pod, since] of state.unseen) if (at - since > UNSEEN_MS) state.unseen.delete(pod);
  state.taken = state.taken.filter((time) => at - time < 2_000);
  return planPool({
    spec: state.pool.spec,
    generation: state.generation,
    runners: [...runners.inPool(name)],
    unseen: state.unseen.size,
    demand: { waiting: demand(name), drainPerSecond: state.taken.length / 2 },
    holdBack: at < state.holdUntil || pools.mounted.length === 0,
    now: at,
    lacksWall: ({ walls }) => lackedWalls(state.pool.spec, walls).length > 0,
  });
}

async function createPod(pools: PoolsState, state: PoolState): Promise<void> {
  const { kube, config, metrics, log } = pools.deps;
  const { pool, generation } = state;
  let owner: OwnerReference | undefined;
  try {
    owner = await pools.deps.owner();
  } catch (error) {
    holdBack(pools, state, error instanceof OwnerMissing ? 'OwnerMissing' : 'CreateFailed', (error as Error).message);
    return;
  }
  const pod = runnerPod(config, {
    pool: pool.metadata.name,
    spec: pool.spec,
    suffix: podSuffix(),
    generation,
    tools: pools.mounted,
    userNamespace: wantsUserNamespace(pools, state),
    owner,
  });
  // Counted before the response: the watch may show the pod before the call returns, and a second plan may run
  // meanwhile.
  state.unseen.set(pod.metadata.name, now());
  try {
    const {
      metadata: { name, uid },
    } = await kube.create(PODS, pod, { namespace: config.runnerNamespace, deadlineMs: 10_000 });
    metrics.podMade(pool.metadata.name);
    if (now() > state.holdUntil) state.problem = undefined;
    log.info({ pool: pool.metadata.name, ...runnerFields({ pod: name, uid }), generation }, 'runner pod created');
  } catch (error) {
    if (isKubeError(error, 'timeout', 'unreachable', 'internal', 'unavailable')) {
      // The pod may exist: it stays counted until the watch shows it or UNSEEN_MS has passed.
      log.warn({ err: error, pool: pool.metadata.name }, 'no response to a runner pod creation, waiting for the watch');
      return;
    }
    state.unseen.delete(pod.metadata.name);
    holdBack(pools, state, whyRefused(error), (error as Error).message);
  }
}

/** Ends idle runners at once and the others after their job, then deletes the pool. */
async function drain(pools: PoolsState, state: PoolState): Promise<void> {
  const { runners, kube } = pools.deps;
  const { name, uid } = state.pool.metadata;
  let left = state.unseen.size;
  for (const runner of runners.inPool(name)) {
    left++;
    if (!runner.task && !runner.deleting) endPod(pools, runner.uid, 'pool-gone');
  }
  if (left > 0) return;
  await kube.delete(PROBE_POOLS, name, { uid }).catch((error: unknown) => {
    if (!isKubeError(error, 'not-found', 'conflict')) throw error;
  });
}
