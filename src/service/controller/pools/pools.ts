/** The leader's pools: the available tools, the pods that serve jobs, and their creation and end by plan. */
import { runnerFields } from '../../../base/log.ts';
import { every } from '../../../base/retry.ts';
import { builtInMsv } from '../../../media/hls/built_in.ts';
import type { ToolName } from '../../../media/tools/table.ts';
import type { AssignedTool, Assignment } from '../../../platform/bus/messages.ts';
import { isKubeError, type Pod, PODS, PROBE_POOLS } from '../../../platform/kube/client.ts';
import {
  type Change,
  isAvailable,
  isBeingProven,
  isDegraded,
  stamp,
  withTimes,
} from '../../../platform/kube/conditions.ts';
import type { WaitingCause } from '../../../platform/kube/probe_job.ts';
import type { ProbePool, ProbePoolSpec, ReuseScope, Wall } from '../../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import { type Condition, LABEL } from '../../../platform/kube/resource.ts';
import { type Routed, routeOf, servedKinds, shadowsOf } from '../../../platform/kube/route.ts';
import { overridden, overriddenCondition } from '../catalog/apply.ts';
import { afterFailedStart, afterQuickStart, bootPatienceMs, NO_FAILED_STARTS } from '../retry_policy.ts';
import type { PoolFacts } from '../snapshot/build.ts';
import { type Change as HoldChange, holdPatch, isHeld, type Seen } from './evictions.ts';
import { lackedWalls, requiredWalls, saidWithoutUserNamespaces, type Shown, wallConditions } from './isolation.ts';
import { START_HOPE_MS, whyWorn } from './plan.ts';
import { ANNOTATION, drainSeconds, generationOf, holdsNodes, isOver, toolKey, watchedPod } from './pod.ts';
import {
  carryOut,
  deletePod,
  endPod,
  endStranded,
  holdBack,
  lookAtStuck,
  noteTenants,
  noUserNamespace,
  replaceWorn,
} from './pods.ts';
import { type Runner, runnerState, startedWithinMs, workOf } from './runners.ts';
import { mayTake, reserveOf, shareOf } from './share.ts';
import { HOLD_BACK_MS, now, type PoolsDeps, PoolsState, PoolState } from './state.ts';

export interface AvailableTool {
  tool: ToolName;
  version: string;
  latest: boolean;
  /** Its image is being tried: runners do not mount it yet, and jobs wait for it. */
  isTried?: boolean;
  command: string[];
  /** The version output of the binary. */
  build?: string;
  /** Tools that must be mounted, if not its own image. */
  uses?: string[];
}

interface ForJob extends Omit<Routed, 'kinds'> {
  assignment: Parameters<typeof servedKinds>[0];
}

/** Debounces changes of tools: twenty changed tools cause one change of the pods. */
const TOOLS_SETTLE_MS = 1_000;
const ROUND_MS = 1_000;

export class Pools extends PoolsState {
  #settle: NodeJS.Timeout | undefined;
  #rounds: { stop(): void }[] = [];
  /** Asked for at each intake; kept until a tool changes. */
  #available: { mounted: PoolsState['mounted']; tools: AvailableTool[] } | undefined;

  constructor(deps: PoolsDeps) {
    super(deps, carryOut);
  }

  tool(tool: ProbeTool): void {
    this.tools.set(tool.metadata.name, tool);
    this.#toolsChanged();
  }

  toolGone(name: string): void {
    this.tools.delete(name);
    this.#toolsChanged();
  }

  #toolsChanged(): void {
    this.#available = undefined;
    if (!this.started) return;
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      regenerate(this);
    }, TOOLS_SETTLE_MS);
  }

  pool(pool: ProbePool): void {
    const name = pool.metadata.name;
    const state = this.byName.get(name);
    if (state) {
      const changed = state.pool.metadata.generation !== pool.metadata.generation;
      state.pool = pool;
      if (!changed) return;
      newGeneration(this, state);
      this.routesChanged();
      return;
    }
    const fresh = new PoolState(pool);
    this.byName.set(name, fresh);
    if (this.started) newGeneration(this, fresh);
    this.routesChanged();
  }

  poolGone(name: string): void {
    const state = this.byName.get(name);
    if (!state) return;
    this.byName.delete(name);
    clearTimeout(state.timer);
    endStranded(this);
    this.routesChanged();
  }

  /** The catalog was applied: its spec of each pool, and the pools that it no longer contains. */
  catalogApplied(specs: ReadonlyMap<string, ProbePoolSpec>, removed: readonly string[]): void {
    this.catalog = specs;
    const gone = new Set(removed);
    for (const [name, state] of this.byName) {
      const { draining } = state;
      state.draining = gone.has(name) || (draining && !specs.has(name));
      if (state.draining === draining) continue;
      const what = draining ? 'pool is in the chart again, serving' : 'pool removed from the chart, draining';
      this.deps.log.info({ pool: name }, what);
      this.plan(state);
      this.routesChanged();
    }
  }

  /** The caches are synced: pods may be created from now on. */
  start(): void {
    this.started = true;
    regenerate(this);
    const rounds = {
      plan: planAll,
      show: showAll,
      'mark long jobs of': markLongJobs,
      'note the tenants of': noteTenants,
    };
    this.#rounds = Object.entries(rounds).map(([what, round]) =>
      every(
        ROUND_MS,
        () => round(this),
        (error) => this.deps.log.warn({ err: error }, `cannot ${what} pools, will retry`),
      ),
    );
  }

  stop(): void {
    clearTimeout(this.#settle);
    for (const round of this.#rounds) round.stop();
    for (const state of this.byName.values()) clearTimeout(state.timer);
  }

  names(): string[] {
    return this.inOrder.map(({ metadata }) => metadata.name);
  }

  forJob({ account, labels, assignment }: ForJob): { name: string; scope: ReuseScope } | undefined {
    const name = routeOf(this.inOrder, { kinds: servedKinds(assignment), account, labels })?.metadata.name;
    return name === undefined ? undefined : { name, scope: this.scopeOf(name) };
  }

  /** Whether the runner is due to be replaced: it gets no more of the work that can go elsewhere. */
  isWorn(runner: Runner): boolean {
    const state = this.byName.get(runner.pool);
    if (!state || runner.generation !== state.generation) return true;
    return whyWorn({ spec: state.pool.spec, now: now() }, runner) !== undefined;
  }

  scopeOf(pool: string): ReuseScope {
    return this.byName.get(pool)?.pool.spec.reuse?.scope ?? 'account';
  }

  /**
   * `fewestOfOthers`: the fewest runners of this pool that another waiting account holds. A runner that `mayBegin`
   * accepts is chosen.
   */
  choose(
    { pool, tenant, account, assignment: { tools } }: Claim,
    fewestOfOthers: () => number | undefined,
    mayBegin: (runner: Runner) => boolean,
  ): Runner | undefined {
    const state = this.byName.get(pool);
    if (!state || state.draining) return undefined;
    const { runners } = this.deps;
    const { spec } = state.pool;
    const may = () =>
      mayTake(spec, {
        held: runners.held(pool, account),
        bound: runners.bound(pool),
        fewestOfOthers: fewestOfOthers(),
        untouched: untouchedIn(this, state),
      });
    const isCovered = (generation: string) => covers(this, generation, tools);
    // Prefers the current generation even if an older pod is bound to the tenant: otherwise that pod would never be
    // idle, and never end.
    const isFit = (runner: Runner) => lackedWalls(spec, runner.walls).length === 0 && mayBegin(runner);
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
    const state = this.byName.get(pool);
    state?.unseen.delete(pod.metadata.name);
    if (!this.coverage.has(generation)) {
      try {
        this.coverage.set(
          generation,
          new Set(JSON.parse(pod.metadata.annotations?.[ANNOTATION.tools] ?? '[]') as string[]),
        );
      } catch {
        this.coverage.set(generation, new Set());
      }
    }
    const ended = isOver(pod);
    const { lost } = this.deps.runners.pod(watchedPod(pod, this.deps.now()), now());
    const said = saidWithoutUserNamespaces(pod);
    if (said !== undefined && state && pod.spec?.hostUsers === false) noUserNamespace(this, state, said);
    this.stuck.seen(pod, uid, now());
    this.evictions.seen(uid, isHeld(pod.metadata.labels));
    if (lost) this.deps.podGone(lost);
    if (ended && pod.metadata.deletionTimestamp === undefined)
      void deletePod(this, { pod: pod.metadata.name, podUid: uid, pool }, 'ended', 0);
    const stuck = pod.status?.conditions?.find(
      ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
    );
    if (stuck && state) holdBack(this, state, 'Unschedulable', stuck.message ?? 'no node has room for another runner');
    if (state && !listed) this.plan(state);
  }

  podGone(pod: Pod): void {
    this.stuck.gone(pod.metadata.uid ?? '');
    this.evictions.gone(pod.metadata.uid ?? '');
    this.deleted.delete(pod.metadata.uid ?? '');
    const { lost } = this.deps.runners.gone(pod.metadata.uid ?? '');
    if (lost) this.deps.podGone(lost);
    const state = this.byName.get(pod.metadata.labels?.[LABEL.pool] ?? '');
    state?.unseen.delete(pod.metadata.name);
    if (state) this.plan(state);
  }

  noticeFree(pool: string, runner: Runner | undefined): void {
    const state = this.byName.get(pool);
    if (state) {
      if (runner) {
        const startMs = startedWithinMs(runner) ?? Infinity;
        if (startMs < START_HOPE_MS) state.failedStarts = afterQuickStart(state.failedStarts);
        replaceWorn(this, state, runner);
      }
      if (runner?.walls?.UserNamespace === true) state.without = undefined;
      state.holdMs = HOLD_BACK_MS[0];
      if (state.problem && now() > state.holdUntil) state.problem = undefined;
      this.plan(state);
    }
  }

  demandChanged(pool: string): void {
    const state = this.byName.get(pool);
    if (state) this.plan(state);
  }

  endPod(uid: string, why: string): void {
    if (why === 'never-ready') noteFailedStart(this, this.deps.runners.get(uid));
    endPod(this, uid, why);
  }

  /** How long a pod may take to start. */
  bootPatienceMs(pool: string): number {
    return bootPatienceMs(this.byName.get(pool)?.failedStarts ?? NO_FAILED_STARTS);
  }

  /** For the cluster snapshot. */
  *facts(): Iterable<PoolFacts> {
    for (const { pool, unseen, problem } of this.byName.values())
      yield { pool, unseen: unseen.size, heldBack: problem !== undefined };
  }

  availableTools(): readonly AvailableTool[] {
    const { mounted } = this;
    if (this.#available?.mounted === mounted) return this.#available.tools;
    const offered = [...this.tools.values()].filter((tool) => isAvailable(tool) || isBeingProven(tool));
    const tools = offered.map((tool) => {
      const { spec, status } = tool;
      const isTried = isBeingProven(tool);
      // What is recorded is the output of the image before.
      const build = isTried ? undefined : status?.reported;
      return {
        tool: spec.tool,
        version: spec.version,
        latest: spec.latest === true,
        isTried,
        command: spec.command,
        ...(build === undefined ? {} : { build }),
      };
    });
    // Another tool can only use what pods mount.
    this.#available = { mounted, tools: [...tools, builtInMsv(mounted)] };
    return this.#available.tools;
  }

  /** Why a job within its token's limit has no runner; undefined if one is free. */
  whyWaiting({ pool, account, assignment }: Claim): { reason: WaitingCause; message: string } | undefined {
    const state = this.byName.get(pool);
    if (!state)
      return {
        reason: 'NoRunner',
        message: 'no ProbePool serves jobs of this kind, account and labels: see spec.serves of the pools',
      };
    const { runners } = this.deps;
    const { spec } = state.pool;
    const missing = missingWalls(this, state);
    if (missing !== undefined) return { reason: 'IsolationMissing', message: missing };
    const [held, bound] = [runners.held(pool, account), runners.bound(pool)];
    const mayGrow = bound >= spec.maxPods || mayTake(spec, { held, bound, fewestOfOthers: undefined });
    const untouched = untouchedIn(this, state);
    const isKept = bound < spec.maxPods && !mayTake(spec, { held, bound, fewestOfOthers: undefined, untouched });
    if (mayGrow && (isKept || !runners.hasFree(pool)))
      return { reason: 'NoRunner', message: whyNoRunner(this, state, toolsLine(assignment.tools)) };
    if (!mayGrow || held >= shareOf(spec)) {
      const message =
        `account ${account} holds ${held} runners of pool ${pool}; its share while others wait is ${shareOf(spec)}, ` +
        `and ${reserveOf(spec)} of ${spec.maxPods} runners are reserved for other accounts`;
      return { reason: 'AccountAtShare', message };
    }
    return undefined;
  }
}

function regenerate(pools: PoolsState): void {
  const mounted = [...pools.tools.values()]
    .filter((tool) => isAvailable(tool) && !isDegraded(tool))
    .map(({ spec }) => spec);
  pools.mounted = mounted;
  const inUse = new Set([...pools.deps.runners.all()].map(({ generation }) => generation));
  for (const generation of pools.coverage.keys()) if (!inUse.has(generation)) pools.coverage.delete(generation);
  for (const state of pools.byName.values()) newGeneration(pools, state);
  pools.deps.changed();
}

function newGeneration(pools: PoolsState, state: PoolState): void {
  const generation = generationOf(pools.deps.config, state.pool.spec, pools.mounted);
  pools.coverage.set(generation, new Set(pools.mounted.map(toolKey)));
  if (generation !== state.generation) {
    if (state.generation !== '')
      pools.deps.log.info({ pool: state.pool.metadata.name, generation }, 'rolling pool to a new generation');
    state.generation = generation;
  }
  pools.plan(state);
}

/** A pod that had a node was not up in time. */
function noteFailedStart(pools: PoolsState, runner: Runner | undefined): void {
  const state = runner && pools.byName.get(runner.pool);
  if (!state || runner.life > 0 || runner.scheduledAt === undefined) return;
  const before = state.failedStarts;
  state.failedStarts = afterFailedStart(before, runner.createdAt, now());
  if (state.failedStarts !== before)
    pools.deps.log.warn(
      { pool: runner.pool, rounds: state.failedStarts.rounds },
      'runner pods did not start in time, starting fewer at once and waiting longer',
    );
}

function covers(pools: PoolsState, generation: string, tools: readonly AssignedTool[]): boolean {
  const has = pools.coverage.get(generation);
  return (
    has !== undefined &&
    tools.every(({ name, version, uses }) => (uses ?? [`${name}/${version}`]).every((key) => has.has(key)))
  );
}

/** What a job requires of a pool. */
interface Claim {
  pool: string;
  tenant: string;
  account: number;
  assignment: Pick<Assignment, 'tools'>;
}

const toolsLine = (tools: readonly { name: string; version: string }[]): string =>
  tools.map(({ name, version }) => `${name} ${version}`).join(', ');

/** Undefined while no pod can be created: the last untouched runner is then not kept back. */
const untouchedIn = ({ deps }: PoolsState, { pool, problem }: PoolState): number | undefined =>
  problem === undefined ? deps.runners.untouched(pool.metadata.name) : undefined;

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

// Once a second. No round waits for the calls of another: the pools are planned while the API server is slow.

async function planAll(pools: PoolsState): Promise<void> {
  if (pools.deps.stillLeading()) {
    endStranded(pools);
    for (const { name, message } of pools.stuck.find(pools.tools.values(), now())) pools.deps.toolStuck(name, message);
  }
  for (const state of pools.byName.values()) pools.plan(state);
}

/** The counts and conditions of each pool, as shown by `kubectl get probepool`. */
async function showAll(pools: PoolsState): Promise<void> {
  for (const state of pools.byName.values()) {
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
function missingWalls(pools: PoolsState, { pool }: PoolState): string | undefined {
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
  if (!stillLeading()) return;
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
      pools.evictions.written(change);
    } catch (error) {
      // Gone, or another pod by now.
      if (isKubeError(error, 'not-found', 'conflict', 'invalid')) return;
      log.debug({ err: error, ...runnerFields(change) }, 'cannot mark the long job of a runner, will retry');
    }
  };
  await Promise.all(pools.evictions.due(runners.all(), holdMs, now()).map(mark));
}
