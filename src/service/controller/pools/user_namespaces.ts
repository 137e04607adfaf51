/** Decides whether a pool's runners get a user namespace. Nodes may lack them, and report it only in Events. */
import { EVENTS, PROBE_POOLS } from '../../../platform/kube/client.ts';
import { printable } from '../../../platform/kube/printable.ts';
import { isWithoutUserNamespaces, requiredWalls } from './isolation.ts';
import { endPod } from './pods.ts';
import { now, type PoolState, type PoolsState } from './pools_state.ts';
import type { Runner } from './runners.ts';

/** Age at which a pod that requests a user namespace and has not started is checked, and the interval of checks. */
const STUCK_MS = 8_000;
const LOOK_MS = 5_000;
/** Nodes are replaced and updated, so a pool without user namespaces tries them again. */
const AGAIN_MS = 30 * 60_000;

const isStuck = ({ phase, life, userNamespace, deleting, createdAt }: Runner, at: number): boolean =>
  phase === 'starting' && life === 0 && userNamespace && !deleting && at - createdAt > STUCK_MS;

export function wantsUserNamespace(pools: PoolsState, state: PoolState): boolean {
  const { userNamespaces = 'Preferred' } = state.pool.spec;
  if (requiredWalls(state.pool.spec).includes('UserNamespace') || userNamespaces === 'Required') return true;
  if (userNamespaces === 'Disabled') return false;
  if (state.without === undefined) return true;
  if (now() < state.without.until) return false;
  // One runner tries again; those created beside it do without.
  return ![...pools.deps.runners.inPool(state.pool.metadata.name)].some(
    ({ phase, life, userNamespace, deleting }) => phase === 'starting' && life === 0 && userNamespace && !deleting,
  );
}

/**
 * On nodes without user namespaces the pod's creation hangs forever; a slow pull looks the same for a while. The
 * kubelet's Events distinguish them.
 */
export async function lookAtStuck(pools: PoolsState, state: PoolState): Promise<void> {
  const { kube, config, runners } = pools.deps;
  if (now() - state.lookedAt < LOOK_MS) return;
  const stuck = [...runners.inPool(state.pool.metadata.name)].find((runner) => isStuck(runner, now()));
  if (!stuck) return;
  state.lookedAt = now();
  const { items } = await kube.list(EVENTS, {
    namespace: config.runnerNamespace,
    fieldSelector: `involvedObject.uid=${stuck.podUid}`,
    limit: 50,
  });
  const said = items.find(
    ({ reason, message }) =>
      (reason === 'FailedCreatePodSandBox' || reason === 'Failed') && isWithoutUserNamespaces(message),
  );
  if (said) noUserNamespace(pools, state, said.message ?? '');
}

export function noUserNamespace(pools: PoolsState, state: PoolState, said: string): void {
  const { runners, log, events } = pools.deps;
  const message = printable(said, 512);
  const isNew = state.without === undefined;
  state.without = { until: now() + AGAIN_MS, message };
  if (isNew) {
    log.warn(
      { pool: state.pool.metadata.name, reason: message },
      'a node does not support user namespaces, creating runners without',
    );
    events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason: 'NoUserNamespace', message });
  }
  if (wantsUserNamespace(pools, state)) return;
  for (const runner of runners.inPool(state.pool.metadata.name))
    if (isStuck(runner, now())) endPod(pools, runner.uid, 'never-ready');
}
