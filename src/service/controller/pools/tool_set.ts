/** The available tools: those that jobs may request, and those that pods of each generation mount. */
import type { AssignedTool } from '../../../platform/bus/messages.ts';
import { isAvailable, isDegraded } from '../../../platform/kube/conditions.ts';
import { builtInMsv } from '../../../media/hls/built_in.ts';
import type { AvailableTool } from '../leader/job.ts';
import { generationOf, toolKey } from './pod.ts';
import type { PoolState, PoolsState } from './pools_state.ts';

export function regenerate(pools: PoolsState): void {
  const mounted = [...pools.tools.values()]
    .filter((tool) => isAvailable(tool) && !isDegraded(tool))
    .map(({ spec }) => spec);
  pools.mounted = mounted;
  const inUse = new Set([...pools.deps.runners.all()].map(({ generation }) => generation));
  for (const generation of pools.coverage.keys()) if (!inUse.has(generation)) pools.coverage.delete(generation);
  for (const state of pools.byName.values()) newGeneration(pools, state);
  pools.deps.changed();
}

export function newGeneration(pools: PoolsState, state: PoolState): void {
  const generation = generationOf(pools.deps.config, state.pool.spec, pools.mounted);
  pools.coverage.set(generation, new Set(pools.mounted.map(toolKey)));
  if (generation !== state.generation) {
    if (state.generation !== '')
      pools.deps.log.info({ pool: state.pool.metadata.name, generation }, 'rolling pool to a new generation');
    state.generation = generation;
  }
  pools.plan(state);
}

export function availableTools(pools: PoolsState): AvailableTool[] {
  const tools = [...pools.tools.values()].filter(isAvailable).map(({ spec, status }) => ({
    tool: spec.tool,
    version: spec.version,
    latest: spec.latest === true,
    command: spec.command,
    ...(status?.reported === undefined ? {} : { build: status.reported }),
  }));
  // Another tool can only use what pods mount.
  return [...tools, builtInMsv(pools.mounted)];
}

export function covers(pools: PoolsState, generation: string, tools: readonly AssignedTool[]): boolean {
  const has = pools.coverage.get(generation);
  return (
    has !== undefined &&
    tools.every(({ name, version, uses }) => (uses ?? [`${name}/${version}`]).every((key) => has.has(key)))
  );
}
