/** Explains why a job has no runner, as far as its pool is the reason. */
import { isAvailable, isDegraded } from '../../../platform/kube/conditions.ts';
import type { WaitingCause } from '../../../platform/kube/probe_job.ts';
import { toolsLine, type Job } from '../leader/job.ts';
import { lackedWalls, requiredWalls } from './isolation.ts';
import { toolKey } from './pod.ts';
import type { PoolState, PoolsState } from './pools_state.ts';
import { workOf } from './runners.ts';
import { mayTake, reserveOf, shareOf } from './share.ts';

/** What a job requires of a pool. */
export type Claim = Pick<Job, 'pool' | 'tenant' | 'account' | 'assignment'>;

/** Undefined while no pod can be created: the last untouched runner is then not kept back. */
export const untouchedIn = ({ deps }: PoolsState, { pool, problem }: PoolState): number | undefined =>
  problem === undefined ? deps.runners.untouched(pool.metadata.name) : undefined;

/** Why a job within its token's limit has no runner; undefined if one is free. */
export function whyWaiting(
  pools: PoolsState,
  { pool, account, assignment: { tools } }: Claim,
): { reason: WaitingCause; message: string } | undefined {
  const state = pools.byName.get(pool);
  if (!state)
    return { reason: 'NoRunner', message: 'no ProbePool serves jobs of this kind: see spec.serves.kinds of the pools' };
  const { runners } = pools.deps;
  const { spec } = state.pool;
  const missing = missingWalls(pools, state);
  if (missing !== undefined) return { reason: 'IsolationMissing', message: missing };
  const [held, bound] = [runners.held(pool, account), runners.bound(pool)];
  const mayGrow = bound >= spec.maxPods || mayTake(spec, { held, bound, fewestOfOthers: undefined });
  const untouched = untouchedIn(pools, state);
  const isKept = bound < spec.maxPods && !mayTake(spec, { held, bound, fewestOfOthers: undefined, untouched });
  if (mayGrow && (isKept || !runners.hasFree(pool)))
    return { reason: 'NoRunner', message: whyNoRunner(pools, state, toolsLine(tools)) };
  if (!mayGrow || held >= shareOf(spec)) {
    const message =
      `account ${account} holds ${held} runners of pool ${pool}; its share while others wait is ${shareOf(spec)}, ` +
      `and ${reserveOf(spec)} of ${spec.maxPods} runners are reserved for other accounts`;
    return { reason: 'AccountAtShare', message };
  }
  return undefined;
}

/** Describes the required walls that none of the pool's runners has; undefined if the pool may serve. */
export function missingWalls(
  pools: PoolsState,
  {
    pool: {
      spec,
      metadata: { name },
    },
  }: PoolState,
): string | undefined {
  if (requiredWalls(spec).length === 0) return undefined;
  const up = [...pools.deps.runners.inPool(name)].filter(({ phase, deleting }) => phase !== 'starting' && !deleting);
  if (up.length === 0 || up.some(({ walls }) => lackedWalls(spec, walls).length === 0)) return undefined;
  const walls = [...new Set(up.flatMap((runner) => lackedWalls(spec, runner.walls)))];
  return `pool ${name} requires ${walls.join(', ')}; none of its ${up.length} runners reports it`;
}

function whyNoRunner(pools: PoolsState, state: PoolState, tools: string): string {
  const pool = state.pool.metadata.name;
  const all = [...pools.deps.runners.inPool(pool)];
  const starting = all.filter(({ phase }) => phase === 'starting').length + state.unseen.size;
  const busy = all.filter((runner) => workOf(runner) === 'busy').length;
  const { maxPods } = state.pool.spec;
  const base = `pool ${pool} has no free runner with ${tools}: ${busy} busy, ${starting} starting, ${maxPods} at most`;
  const without = [...pools.tools.values()]
    .filter((tool) => isAvailable(tool) && isDegraded(tool))
    .map(({ spec }) => toolKey(spec));
  const leftOut =
    without.length > 0
      ? `; not mounted, because their images cannot be pulled: ${without.slice(0, 10).join(', ')}`
      : '';
  return `${base}${leftOut}${state.problem ? `; ${state.problem.message}` : ''}`;
}
