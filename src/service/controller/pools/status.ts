/**
 * Once a second: the counts and conditions of each pool, as shown by `kubectl get probepool`, and the labels of runners
 * in long jobs.
 */
import { LABEL, type Condition } from '../../../platform/kube/resource.ts';
import type { Wall } from '../../../platform/kube/probe_pool.ts';
import { stamp, withTimes, type Change } from '../../../platform/kube/conditions.ts';
import { PROBE_POOLS, PODS, isKubeError } from '../../../platform/kube/client.ts';
import { overridden, overriddenCondition } from '../catalog/apply.ts';
import { lackedWalls, requiredWalls, wallConditions, type Shown } from './isolation.ts';
import { endStranded, lookAtStuck } from './pods.ts';
import { now, type PoolState, type PoolsState } from './state.ts';
import { runnerState, type Runner } from './runners.ts';
import { runnerFields } from '../../../base/log.ts';
import { holdPatch, type Change as HoldChange, type Seen } from './evictions.ts';
import { drainSeconds, holdsNodes } from './pod.ts';
import { shadowsOf } from './route.ts';

export async function showAll(pools: PoolsState): Promise<void> {
  if (pools.deps.stillLeading()) {
    endStranded(pools);
    for (const { name, message } of pools.stuck.find(pools.tools.values(), now())) pools.deps.toolStuck(name, message);
  }
  void markLongJobs(pools);
  for (const state of pools.byName.values()) {
    pools.plan(state);
    await lookAtStuck(pools, state).catch((error: unknown) =>
      pools.deps.log.debug({ err: error }, 'cannot read the Events of a runner pod'),
    );
    await showOne(pools, state).catch((error: unknown) =>
      pools.deps.log.debug({ err: error }, 'cannot write the status of a pool, will retry'),
    );
  }
}

async function showOne(pools: PoolsState, state: PoolState): Promise<void> {
  const { kube, runners, metrics } = pools.deps;
  const name = state.pool.metadata.name;
  const all = [...runners.inPool(name)].filter(({ deleting }) => !deleting);
  const states = all.map(runnerState);
  const ready = states.filter((one) => one === 'idle').length;
  const busy = states.filter((one) => one === 'busy').length;
  const starting = states.filter((one) => one === 'starting').length + state.unseen.size;
  metrics.pods(name, 'ready', ready);
  metrics.pods(name, 'busy', busy);
  metrics.pods(name, 'starting', starting);
  const untouched = all.filter(
    (runner) => runner.phase === 'idle' && !runner.task && runner.tenant === undefined,
  ).length;
  // What minReady asks for: an autoscaler compares the two.
  const counts = { ready, busy, starting, replicas: untouched + starting };
  const walls = wallsOf(state, all);
  for (const { type, status: up } of walls) metrics.isolation(name, type as Wall, up === 'True');
  const wanted = pools.catalog.get(name);
  const extra = wanted ? [overriddenCondition(overridden(wanted, state.pool.spec))] : [];
  const routes = state.draining ? [] : [shadowed(pools, state)];
  const changes = [{ type: 'Ready', ...readiness(pools, state, { untouched, busy }) }, ...walls, ...routes, ...extra];
  const shown = JSON.stringify([counts, changes, state.generation, state.pool.metadata.generation]);
  if (shown === state.shown || !pools.deps.stillLeading()) return;
  const observed =
    state.pool.metadata.generation === undefined ? {} : { observedGeneration: state.pool.metadata.generation };
  const conditions = withTimes(
    state.pool.status,
    changes.map((change) => ({ ...change, ...observed })),
    stamp(pools.deps.now()),
  );
  const updated = await kube.mergePatchStatus(PROBE_POOLS, name, {
    ...counts,
    epoch: pools.deps.epoch,
    selector: `${LABEL.pool}=${name}`,
    generation: state.generation,
    conditions,
    ...observed,
  });
  state.shown = shown;
  state.pool = { ...state.pool, status: updated.status ?? {} };
}

/** Describes the required walls that none of the pool's runners has; undefined if the pool may serve. */
export function missingWalls(pools: PoolsState, { pool }: PoolState): string | undefined {
  const { spec } = pool;
  const { name } = pool.metadata;
  if (requiredWalls(spec).length === 0) return undefined;
  const up = [...pools.deps.runners.inPool(name)].filter(({ phase, deleting }) => phase !== 'starting' && !deleting);
  if (up.length === 0 || up.some(({ walls }) => lackedWalls(spec, walls).length === 0)) return undefined;
  const walls = [...new Set(up.flatMap((runner) => lackedWalls(spec, runner.walls)))];
  return `pool ${name} requires ${walls.join(', ')}; none of its ${up.length} runners reports it`;
}

function readiness(
  pools: PoolsState,
  state: PoolState,
  { untouched, busy }: { untouched: number; busy: number },
): Pick<Condition, 'status' | 'reason' | 'message'> {
  const not = (reason: string, message: string) => ({ status: 'False', reason, message }) as const;
  if (state.draining) return not('Draining', 'the pool was removed from the chart and drains');
  const missing = missingWalls(pools, state);
  if (missing) return not('IsolationMissing', missing);
  if (state.problem) return not(state.problem.reason, state.problem.message);
  if (pools.mounted.length === 0) return not('NoTools', 'no ProbeTool is Available and not Degraded');
  const { minReady } = state.pool.spec;
  const startsSlowly = state.failedStarts.rounds > 0 ? '; pods were not up in time, so fewer start at once' : '';
  return untouched >= minReady || busy > 0
    ? { status: 'True', reason: 'Serving', message: `${untouched} unused runners are ready` }
    : not('Filling', `${untouched} of ${minReady} runners are ready${startsSlowly}`);
}

function shadowed(pools: PoolsState, { pool }: PoolState): Change {
  const by = shadowsOf(pools.inOrder, pool);
  if (!by) return { type: 'Shadowed', status: 'False', reason: 'Reachable', message: 'jobs are routed to this pool' };
  const message =
    `no job gets here, the pools before it take all of them: ${by.join(', ')}; ` +
    'raise spec.priority, or narrow spec.serves of those';
  return { type: 'Shadowed', status: 'True', reason: 'ServedBefore', message };
}

function wallsOf(state: PoolState, live: readonly Runner[]): Shown[] {
  const shown = wallConditions(live.filter(({ phase }) => phase !== 'starting').map(({ walls }) => walls));
  const without = state.without;
  if (without)
    return shown.map((one) =>
      one.type === 'UserNamespace'
        ? { ...one, status: 'False', reason: 'NotSupported', message: without.message }
        : one,
    );
  return shown;
}

/** Writes to runner pods whether they may be evicted. */
async function markLongJobs(pools: PoolsState): Promise<void> {
  const { kube, config, log, runners, stillLeading } = pools.deps;
  if (!stillLeading() || pools.marking) return;
  const holdMs = ({ pool: name }: Seen): number => {
    const pool = pools.byName.get(name)?.pool;
    return pool !== undefined && holdsNodes(pool.spec) ? drainSeconds(pool.spec) * 1_000 : 0;
  };
  const mark = async (change: HoldChange): Promise<void> => {
    try {
      await kube.mergePatch(PODS, change.pod, holdPatch(change), {
        namespace: config.runnerNamespace,
        deadlineMs: 5_000,
      });
      pools.evictions.seen(change.uid, change.hold);
    } catch (error) {
      // Gone, or another pod by now.
      if (isKubeError(error, 'not-found', 'conflict', 'invalid')) return;
      log.debug({ err: error, ...runnerFields(change) }, 'cannot mark the long job of a runner, will retry');
    }
  };
  pools.marking = true;
  await Promise.all(pools.evictions.due(runners.all(), holdMs, now()).map(mark));
  pools.marking = false;
}
