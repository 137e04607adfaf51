/** Ends runner pods, and holds creation back if the cluster accepts no more. */
import { PODS, PROBE_POOLS, isKubeError, isOverQuota } from '../../../platform/kube/client.ts';
import { runnerFields } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';
import { isBooting } from './plan.ts';
import { HOLD_BACK_MS, now, type PoolState, type PoolsState } from './pools_state.ts';
import type { Runner } from './runners.ts';

const DELETE_PAUSES = { first: 100, longest: 5_000 };

export function endPod(pools: PoolsState, uid: string, why: string): void {
  const runner = pools.deps.runners.get(uid);
  if (!runner) return;
  pools.deps.runners.retire(uid);
  void deletePod(pools, runner, why, graceSeconds(why, runner, now()));
}

/** Grace period in seconds. Undefined: the pod's own, in which it drains. */
export function graceSeconds(
  why: string,
  runner: Pick<Runner, 'phase' | 'task' | 'createdAt'>,
  at: number,
): number | undefined {
  if (why === 'silent' || why === 'never-ready' || why === 'ended') return 0;
  // There is nothing to drain yet. The agent of an older release is process 1 and may miss the signal: the pod would
  // stay for its whole grace period.
  return isBooting(runner, at) && runner.task === undefined ? 5 : undefined;
}

export async function deletePod(
  pools: PoolsState,
  { pod, podUid: uid, pool }: Pick<Runner, 'pod' | 'podUid' | 'pool'>,
  why: string,
  gracePeriodSeconds: number | undefined,
): Promise<void> {
  const { kube, config, log, metrics, recent, signal } = pools.deps;
  if (signal.aborted) return;
  metrics.podEnded(pool, why);
  recent.podEnded(pool, pod, why);
  try {
    await retry(() => kube.delete(PODS, pod, { namespace: config.runnerNamespace, uid, gracePeriodSeconds }), {
      ...DELETE_PAUSES,
      signal,
      when: (error) => !isKubeError(error, 'not-found', 'conflict'),
    });
    log.info({ pool, ...runnerFields({ pod, uid }), why }, 'runner pod ended');
  } catch {
    // The pod no longer exists, or the term is over.
  }
}

/** Ends idle pods of pools that no longer exist, including pools deleted while there was no leader. */
export function endStranded(pools: PoolsState): void {
  for (const runner of pools.deps.runners.all())
    if (!pools.byName.has(runner.pool) && !runner.task && !runner.deleting) endPod(pools, runner.uid, 'pool-gone');
}

/**
 * With a full queue a runner gets its next job at once, and the plan never sees it free. So it is checked between two
 * jobs. Runners are replaced one at a time, to keep the pool working.
 */
export function replaceWorn(pools: PoolsState, state: PoolState, runner: Runner): void {
  if (runner.tenant === undefined || runner.task || runner.deleting || !pools.deps.stillLeading()) return;
  const worn = now() - runner.createdAt > (state.pool.spec.reuse?.maxAgeSeconds ?? 3600) * 1000;
  if (!worn && runner.generation === state.generation) return;
  const coming =
    state.unseen.size > 0 ||
    [...pools.deps.runners.inPool(state.pool.metadata.name)].some(
      ({ phase, deleting }) => phase === 'starting' && !deleting,
    );
  if (!coming) endPod(pools, runner.uid, worn ? 'age' : 'old-generation');
}

/** Ranges: from the messages of the admission plugin LimitRanger. */
export function whyRefused(error: unknown): 'QuotaExceeded' | 'LimitRange' | 'CreateFailed' {
  if (isOverQuota(error)) return 'QuotaExceeded';
  if (!isKubeError(error, 'forbidden')) return 'CreateFailed';
  const isRange = /(minimum|maximum) .* per (Container|Pod)|to limit ratio per/i.test(error.message);
  return isRange ? 'LimitRange' : 'CreateFailed';
}

export function holdBack(pools: PoolsState, state: PoolState, reason: string, message: string): void {
  if (now() < state.holdUntil) return;
  state.problem = { reason, message: message.slice(0, 512) };
  state.holdUntil = now() + state.holdMs;
  state.holdMs = Math.min(state.holdMs * 2, HOLD_BACK_MS[1]);
  pools.deps.log.warn({ pool: state.pool.metadata.name, reason, message }, 'runner pod creation paused');
  pools.deps.events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason, message: state.problem.message });
  // A quiet cluster causes no other event, so plan again when the hold is over.
  setTimeout(() => pools.plan(state), state.holdUntil - now() + 1).unref();
}
