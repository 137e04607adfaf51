/** The leader's pools: the available tools, the pods that serve jobs, and their creation and end by plan. */
import type { Pod } from '../../../platform/kube/client.ts';
import { LABEL } from '../../../platform/kube/resource.ts';
import type { Kind } from '../../../platform/kube/probe_job.ts';
import type { ProbePool, ProbePoolSpec, ReuseScope } from '../../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import type { AvailableTool } from '../leader/job.ts';
import type { WaitingCause } from '../../../platform/kube/probe_job.ts';
import type { PoolFacts } from '../snapshot/build.ts';
import { carryOut } from './carry_out.ts';
import { isHeld } from './evictions.ts';
import { isWithoutUserNamespaces, lackedWalls } from './isolation.ts';
import { factsOf } from './life.ts';
import { ANNOTATION, isOver } from './pod.ts';
import { deletePod, endPod, endStranded, holdBack, replaceWorn } from './pods.ts';
import { HOLD_BACK_MS, PoolsState, now, type PoolState, type PoolsDeps } from './pools_state.ts';
import type { Runner } from './runners.ts';
import { mayTake } from './share.ts';
import { showAll } from './status.ts';
import { availableTools, covers, newGeneration, regenerate } from './tool_set.ts';
import { noUserNamespace } from './user_namespaces.ts';
import { untouchedIn, whyWaiting, type Claim } from './waiting.ts';

/** Debounces changes of tools: twenty changed tools cause one change of the pods. */
const TOOLS_SETTLE_MS = 1_000;
const STATUS_MS = 1_000;

export class Pools {
  readonly #deps: PoolsDeps;
  readonly #state: PoolsState;
  #settle: NodeJS.Timeout | undefined;
  #status: NodeJS.Timeout | undefined;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
    this.#state = new PoolsState(deps, carryOut);
  }

  tool(tool: ProbeTool): void {
    this.#state.tools.set(tool.metadata.name, tool);
    this.#toolsChanged();
  }

  toolGone(name: string): void {
    this.#state.tools.delete(name);
    this.#toolsChanged();
  }

  #toolsChanged(): void {
    if (!this.#state.started) return;
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      regenerate(this.#state);
    }, TOOLS_SETTLE_MS);
  }

  pool(pool: ProbePool): void {
    const name = pool.metadata.name;
    const state = this.#state.byName.get(name);
    if (state) {
      const changed = state.pool.metadata.generation !== pool.metadata.generation;
      state.pool = pool;
      if (!changed) return;
      newGeneration(this.#state, state);
      this.#deps.changed();
      return;
    }
    const fresh: PoolState = {
      pool,
      generation: '',
      unseen: new Map(),
      holdUntil: 0,
      holdMs: HOLD_BACK_MS[0],
      problem: undefined,
      taken: [],
      planning: false,
      again: false,
      timer: undefined,
      shown: '',
      without: undefined,
      lookedAt: 0,
      renewedShownAt: Number.NEGATIVE_INFINITY,
      draining: false,
    };
    this.#state.byName.set(name, fresh);
    if (this.#state.started) newGeneration(this.#state, fresh);
    this.#deps.changed();
  }

  poolGone(name: string): void {
    const state = this.#state.byName.get(name);
    if (!state) return;
    this.#state.byName.delete(name);
    clearTimeout(state.timer);
    endStranded(this.#state);
    this.#deps.changed();
  }

  /** The catalog was applied: its spec of each pool, and the pools that it no longer contains. */
  catalog(specs: ReadonlyMap<string, ProbePoolSpec>, removed: readonly string[]): void {
    this.#state.catalog = specs;
    for (const name of removed) {
      const state = this.#state.byName.get(name);
      if (!state || state.draining) continue;
      state.draining = true;
      this.#deps.log.info({ pool: name }, 'pool removed from the chart, draining');
      this.#state.plan(state);
    }
    this.#deps.changed();
  }

  /** The caches are synced: pods may be created from now on. */
  start(): void {
    this.#state.started = true;
    regenerate(this.#state);
    this.#status = setInterval(() => void showAll(this.#state), STATUS_MS);
  }

  stop(): void {
    clearTimeout(this.#settle);
    clearInterval(this.#status);
    for (const state of this.#state.byName.values()) clearTimeout(state.timer);
  }

  names(): string[] {
    return [...this.#state.byName].filter(([, { draining }]) => !draining).map(([name]) => name);
  }

  forKind(kind: Kind): { name: string; scope: ReuseScope } | undefined {
    for (const { pool, draining } of this.#state.byName.values()) {
      if (!draining && pool.spec.serves.kinds.includes(kind))
        return { name: pool.metadata.name, scope: this.scopeOf(pool.metadata.name) };
    }
    return undefined;
  }

  scopeOf(pool: string): ReuseScope {
    return this.#state.byName.get(pool)?.pool.spec.reuse?.scope ?? 'account';
  }

  /** `fewestOfOthers`: the fewest runners of this pool that another waiting account holds. */
  choose(
    { pool, tenant, account, assignment: { tools } }: Claim,
    fewestOfOthers: () => number | undefined,
  ): Runner | undefined {
    const state = this.#state.byName.get(pool);
    if (!state || state.draining) return undefined;
    const { runners } = this.#deps;
    const { spec } = state.pool;
    const may = () =>
      mayTake(spec, {
        held: runners.held(pool, account),
        bound: runners.bound(pool),
        fewestOfOthers: fewestOfOthers(),
        untouched: untouchedIn(this.#state, state),
      });
    const isCovered = (generation: string) => covers(this.#state, generation, tools);
    // Prefers the current generation even if an older pod is bound to the tenant: otherwise that pod would never be
    // idle, and never end.
    const isFit = ({ walls }: Runner) => lackedWalls(spec, walls).length === 0;
    const runner =
      runners.choose(
        pool,
        tenant,
        (generation) => generation === state.generation && isCovered(generation),
        may,
        isFit,
      ) ?? runners.choose(pool, tenant, isCovered, may, isFit);
    if (runner && runner.tenant === undefined) state.taken.push(now());
    return runner;
  }

  podSeen(pod: Pod, listed: boolean): void {
    const pool = pod.metadata.labels?.[LABEL.pool] ?? '';
    const generation = pod.metadata.labels?.[LABEL.generation] ?? '';
    const uid = pod.metadata.uid ?? '';
    const state = this.#state.byName.get(pool);
    state?.unseen.delete(pod.metadata.name);
    if (!this.#state.coverage.has(generation)) {
      try {
        this.#state.coverage.set(
          generation,
          new Set(JSON.parse(pod.metadata.annotations?.[ANNOTATION.tools] ?? '[]') as string[]),
        );
      } catch {
        this.#state.coverage.set(generation, new Set());
      }
    }
    const ended = isOver(pod);
    const { lost } = this.#deps.runners.pod(factsOf(pod), now());
    const waits = pod.status?.containerStatuses
      ?.map(({ state: { waiting } = {} }) => waiting?.message)
      .find(isWithoutUserNamespaces);
    if (waits !== undefined && state && pod.spec?.hostUsers === false) noUserNamespace(this.#state, state, waits);
    this.#state.stuck.seen(pod, uid, now());
    this.#state.evictions.seen(uid, isHeld(pod.metadata.labels));
    if (lost) this.#deps.podGone(lost);
    if (ended && pod.metadata.deletionTimestamp === undefined)
      void deletePod(this.#state, { pod: pod.metadata.name, podUid: uid, pool }, 'ended', 0);
    const stuck = pod.status?.conditions?.find(
      ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
    );
    if (stuck && state)
      holdBack(this.#state, state, 'Unschedulable', stuck.message ?? 'no node has room for another runner');
    if (state && !listed) this.#state.plan(state);
  }

  podGone(pod: Pod): void {
    this.#state.stuck.gone(pod.metadata.uid ?? '');
    this.#state.evictions.gone(pod.metadata.uid ?? '');
    const { lost } = this.#deps.runners.gone(pod.metadata.uid ?? '');
    if (lost) this.#deps.podGone(lost);
    const state = this.#state.byName.get(pod.metadata.labels?.[LABEL.pool] ?? '');
    state?.unseen.delete(pod.metadata.name);
    if (state) this.#state.plan(state);
  }

  noticeFree(pool: string, runner: Runner | undefined): void {
    const state = this.#state.byName.get(pool);
    if (state) {
      if (runner) replaceWorn(this.#state, state, runner);
      if (runner?.walls?.UserNamespace === true) state.without = undefined;
      state.holdMs = HOLD_BACK_MS[0];
      if (state.problem && now() > state.holdUntil) state.problem = undefined;
      this.#state.plan(state);
    }
  }

  demandChanged(pool: string): void {
    const state = this.#state.byName.get(pool);
    if (state) this.#state.plan(state);
  }

  endPod(uid: string, why: string): void {
    endPod(this.#state, uid, why);
  }

  /** For the cluster snapshot. */
  *facts(): Iterable<PoolFacts> {
    for (const { pool, unseen, problem } of this.#state.byName.values())
      yield { pool, unseen: unseen.size, heldBack: problem !== undefined };
  }

  availableTools(): AvailableTool[] {
    return availableTools(this.#state);
  }

  /** Why a job within its token's limit has no runner; undefined if one is free. */
  whyWaiting(claim: Claim): { reason: WaitingCause; message: string } | undefined {
    return whyWaiting(this.#state, claim);
  }
}
