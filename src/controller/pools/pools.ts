/**
 * The leader's pools: which tools there are, which pods serve which jobs, and the making and ending of pods after
 * pool.ts's plan.
 */
import type { AssignedTool } from '../../bus/messages.ts';
import type { Config } from '../../config.ts';
import { EVENTS, PODS, PROBE_POOLS, isKubeError, type KubeClient, type Pod } from '../../kube/client.ts';
import {
  LABEL,
  type Condition,
  type Kind,
  type ProbePool,
  type ProbePoolSpec,
  type ProbeTool,
  type ReuseScope,
  type Wall,
} from '../../kube/resources.ts';
import { retry } from '../../retry.ts';
import { printable } from '../../kube/printable.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { type Logger, runnerFields } from '../../log.ts';
import { builtInMsv } from '../../hls/built_in.ts';
import { overridden, overriddenCondition } from '../catalog/apply.ts';
import type { WaitingCause } from '../leader/job_status.ts';
import { isWithoutUserNamespaces, lackedWalls, requiredWalls, wallConditions, type Shown } from './isolation.ts';
import { toolsLine, type AvailableTool, type Job } from '../leader/job.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { OwnerMissing, type OwnerReference } from './pod_owner.ts';
import { ANNOTATION, generationOf, isOver, podSuffix, runnerPod, toolKey, type PodTool } from './pod.ts';
import { planPool, type PoolPlan, type Waiting } from './plan.ts';
import { type LostTask, type Runner, type Runners } from './runners.ts';
import { mayTake, reserveOf, shareOf } from './share.ts';
import { isAvailable, isDegraded, stuckTools, type StuckTools } from './stuck_tools.ts';

export interface PoolsDeps {
  kube: KubeClient;
  config: Config<'controller'>;
  log: Logger;
  metrics: ControllerMetrics;
  events: EventRecorder;
  runners: Runners;
  signal: AbortSignal;
  stillLeading: () => boolean;
  owner: () => Promise<OwnerReference | undefined>;
  demand: (lane: string) => Waiting[];
  /** A pod is gone, with what it ran. */
  podGone: (task: LostTask) => void;
  /** Runners have been waiting for the image of a tool for long. */
  toolStuck: (name: string, message: string) => void;
  /** Runners or tools came: waiting jobs may fit now. */
  changed: () => void;
}

/** A change of tools is followed once, not once for each of twenty tools. */
const TOOLS_SETTLE_MS = 1_000;
const PLAN_DEBOUNCE_MS = 25;
const STATUS_MS = 1_000;
const DELETE_PAUSES = { first: 100, longest: 5_000 };
const HOLD_BACK_MS = [1_000, 30_000] as const;
/** A created pod that the watch has not shown after this was not made, or is gone again. */
const UNSEEN_MS = 60_000;

/** When a pod that asks for a user namespace and has not come up is looked at, and how often. */
const STUCK_MS = 8_000;
const LOOK_MS = 5_000;
/** Nodes are replaced and updated: a pool that does without user namespaces tries them again. */
const AGAIN_MS = 30 * 60_000;

const isStuck = ({ phase, userNamespace, deleting, createdAt }: Runner, at: number): boolean =>
  phase === 'starting' && userNamespace && !deleting && at - createdAt > STUCK_MS;

const now = (): number => performance.now();

/** What a job asks of a pool. */
type Claim = Pick<Job, 'lane' | 'tenant' | 'account' | 'assignment'>;

interface PoolState {
  pool: ProbePool;
  generation: string;
  unseen: Map<string, number>;
  holdUntil: number;
  holdMs: number;
  problem: { reason: string; message: string } | undefined;
  taken: number[];
  planning: boolean;
  again: boolean;
  timer: NodeJS.Timeout | undefined;
  shown: string;
  /** Set while a pool that prefers user namespaces does without, because a node said that it has none. */
  without: { until: number; message: string } | undefined;
  lookedAt: number;
  /** The chart no longer has it: it takes nothing more, and goes with its last runner. */
  draining: boolean;
}

export class Pools {
  readonly #deps: PoolsDeps;
  readonly #pools = new Map<string, PoolState>();
  readonly #tools = new Map<string, ProbeTool>();
  /** Specs of pools as the chart has them. */
  #catalog: ReadonlyMap<string, ProbePoolSpec> = new Map();
  readonly #coverage = new Map<string, Set<string>>();
  readonly #stuck: StuckTools;
  #mounted: PodTool[] = [];
  #settle: NodeJS.Timeout | undefined;
  #status: NodeJS.Timeout | undefined;
  #started = false;
  readonly bootPatienceMs = 90_000;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
    this.#stuck = stuckTools(deps.runners);
  }

  // ------------------------------------------------------------------- tools

  tool(tool: ProbeTool): void {
    this.#tools.set(tool.metadata.name, tool);
    this.#toolsChanged();
  }

  toolGone(name: string): void {
    this.#tools.delete(name);
    this.#toolsChanged();
  }

  #toolsChanged(): void {
    if (!this.#started) return;
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      this.#regenerate();
    }, TOOLS_SETTLE_MS);
  }

  #regenerate(): void {
    const mounted = [...this.#tools.values()]
      .filter((tool) => isAvailable(tool) && !isDegraded(tool))
      .map(({ spec }) => spec);
    this.#mounted = mounted;
    const inUse = new Set([...this.#deps.runners.all()].map(({ generation }) => generation));
    for (const generation of this.#coverage.keys()) if (!inUse.has(generation)) this.#coverage.delete(generation);
    for (const state of this.#pools.values()) this.#newGeneration(state);
    this.#deps.changed();
  }

  #newGeneration(state: PoolState): void {
    const generation = generationOf(this.#deps.config, state.pool.spec, this.#mounted);
    this.#coverage.set(generation, new Set(this.#mounted.map(toolKey)));
    if (generation !== state.generation) {
      if (state.generation !== '')
        this.#deps.log.info({ pool: state.pool.metadata.name, generation }, 'the pool rolls to a new generation');
      state.generation = generation;
    }
    this.#plan(state);
  }

  availableTools(): AvailableTool[] {
    const tools = [...this.#tools.values()].filter(isAvailable).map(({ spec }) => ({
      tool: spec.tool,
      version: spec.version,
      latest: spec.latest === true,
      command: spec.command,
    }));
    // Only what pods mount can be used by another tool.
    return [...tools, builtInMsv(this.#mounted)];
  }

  #covers(generation: string, tools: readonly AssignedTool[]): boolean {
    const has = this.#coverage.get(generation);
    return (
      has !== undefined &&
      tools.every(({ name, version, uses }) => (uses ?? [`${name}/${version}`]).every((key) => has.has(key)))
    );
  }

  // ------------------------------------------------------------------- pools

  pool(pool: ProbePool): void {
    const name = pool.metadata.name;
    const state = this.#pools.get(name);
    if (state) {
      const changed = state.pool.metadata.generation !== pool.metadata.generation;
      state.pool = pool;
      if (!changed) return;
      this.#newGeneration(state);
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
      draining: false,
    };
    this.#pools.set(name, fresh);
    if (this.#started) this.#newGeneration(fresh);
    this.#deps.changed();
  }

  poolGone(name: string): void {
    const state = this.#pools.get(name);
    if (!state) return;
    this.#pools.delete(name);
    clearTimeout(state.timer);
    this.#endStranded();
    this.#deps.changed();
  }

  /** The catalog is applied: what it says of each pool, and which pools it no longer has. */
  catalog(specs: ReadonlyMap<string, ProbePoolSpec>, removed: readonly string[]): void {
    this.#catalog = specs;
    for (const name of removed) {
      const state = this.#pools.get(name);
      if (!state || state.draining) continue;
      state.draining = true;
      this.#deps.log.info({ pool: name }, 'pool is not in the chart any more, draining');
      this.#plan(state);
    }
    this.#deps.changed();
  }

  /** Idle runners go at once, the others with their job; then the pool itself. */
  async #drain(state: PoolState): Promise<void> {
    const { runners, kube } = this.#deps;
    const { name, uid } = state.pool.metadata;
    let left = state.unseen.size;
    for (const runner of runners.inPool(name)) {
      left++;
      if (!runner.task && !runner.deleting) this.endPod(runner.uid, 'pool-gone');
    }
    if (left > 0) return;
    await kube.delete(PROBE_POOLS, name, { uid }).catch((error: unknown) => {
      if (!isKubeError(error, 'not-found', 'conflict')) throw error;
    });
  }

  /** The caches are filled: from now on pods are made. */
  start(): void {
    this.#started = true;
    this.#regenerate();
    this.#status = setInterval(() => void this.#showAll(), STATUS_MS);
  }

  stop(): void {
    clearTimeout(this.#settle);
    clearInterval(this.#status);
    for (const state of this.#pools.values()) clearTimeout(state.timer);
  }

  lanes(): string[] {
    return [...this.#pools].filter(([, { draining }]) => !draining).map(([name]) => name);
  }

  forKind(kind: Kind): { name: string; scope: ReuseScope } | undefined {
    for (const { pool, draining } of this.#pools.values()) {
      if (!draining && pool.spec.serves.kinds.includes(kind))
        return { name: pool.metadata.name, scope: this.scopeOf(pool.metadata.name) };
    }
    return undefined;
  }

  scopeOf(lane: string): ReuseScope {
    return this.#pools.get(lane)?.pool.spec.reuse?.scope ?? 'account';
  }

  /** `fewestOfOthers`: the fewest runners of this pool that another waiting account holds. */
  choose(
    { lane, tenant, account, assignment: { tools } }: Claim,
    fewestOfOthers: () => number | undefined,
  ): Runner | undefined {
    const state = this.#pools.get(lane);
    if (!state || state.draining) return undefined;
    const { runners } = this.#deps;
    const { spec } = state.pool;
    const may = () =>
      mayTake(spec, {
        held: runners.held(lane, account),
        bound: runners.bound(lane),
        fewestOfOthers: fewestOfOthers(),
      });
    const covers = (generation: string) => this.#covers(generation, tools);
    // The current generation first, even where an older pod is bound to the tenant already: else that one would never
    // be idle, and never leave.
    const isFit = ({ walls }: Runner) => lackedWalls(spec, walls).length === 0;
    const runner =
      runners.choose(lane, tenant, (generation) => generation === state.generation && covers(generation), may, isFit) ??
      runners.choose(lane, tenant, covers, may, isFit);
    if (runner && runner.tenant === undefined) state.taken.push(now());
    return runner;
  }

  /** Why a job whose token may run it has no runner; undefined where one is free for it. */
  whyWaiting({ lane, account, assignment: { tools } }: Claim): { reason: WaitingCause; message: string } | undefined {
    const state = this.#pools.get(lane);
    if (!state) return { reason: 'NoRunner', message: 'no ProbePool serves jobs of this kind' };
    const { runners } = this.#deps;
    const { spec } = state.pool;
    const missing = this.#missing(state);
    if (missing !== undefined) return { reason: 'IsolationMissing', message: missing };
    const [held, bound] = [runners.held(lane, account), runners.bound(lane)];
    const mayGrow = bound >= spec.maxPods || mayTake(spec, { held, bound, fewestOfOthers: undefined });
    if (mayGrow && !runners.hasFree(lane))
      return { reason: 'NoRunner', message: this.#whyNoRunner(state, toolsLine(tools)) };
    if (!mayGrow || held >= shareOf(spec)) {
      const message = `its account holds ${held} runners of the pool ${lane}: its share is ${shareOf(spec)} while others wait, and ${reserveOf(spec)} of ${spec.maxPods} stay for other accounts`;
      return { reason: 'AccountAtShare', message };
    }
    return undefined;
  }

  /** The walls that a pool requires and none of its runners has; undefined: it may serve. */
  #missing({
    pool: {
      spec,
      metadata: { name },
    },
  }: PoolState): string | undefined {
    if (requiredWalls(spec).length === 0) return undefined;
    const up = [...this.#deps.runners.inPool(name)].filter(({ phase, deleting }) => phase !== 'starting' && !deleting);
    if (up.length === 0 || up.some(({ walls }) => lackedWalls(spec, walls).length === 0)) return undefined;
    const walls = [...new Set(up.flatMap((runner) => lackedWalls(spec, runner.walls)))];
    return `the pool ${name} requires ${walls.join(', ')}, and none of its ${up.length} runners reports it`;
  }

  #whyNoRunner(state: PoolState, tools: string): string {
    const lane = state.pool.metadata.name;
    const all = [...this.#deps.runners.inPool(lane)];
    const starting = all.filter(({ phase }) => phase === 'starting').length + state.unseen.size;
    const busy = all.filter(({ phase, task }) => phase === 'busy' || task !== undefined).length;
    const base = `the pool ${lane} has no free runner with ${tools}: ${busy} busy, ${starting} starting, ${state.pool.spec.maxPods} at most`;
    const without = [...this.#tools.values()]
      .filter((tool) => isAvailable(tool) && isDegraded(tool))
      .map(({ spec }) => toolKey(spec));
    const leftOut =
      without.length > 0 ? `; left out because their images cannot be pulled: ${without.slice(0, 10).join(', ')}` : '';
    return `${base}${leftOut}${state.problem ? `; ${state.problem.message}` : ''}`;
  }

  // -------------------------------------------------------------------- pods

  podSeen(pod: Pod, listed: boolean): void {
    const pool = pod.metadata.labels?.[LABEL.pool] ?? '';
    const generation = pod.metadata.labels?.[LABEL.generation] ?? '';
    const uid = pod.metadata.uid ?? '';
    const state = this.#pools.get(pool);
    state?.unseen.delete(pod.metadata.name);
    if (!this.#coverage.has(generation)) {
      try {
        this.#coverage.set(
          generation,
          new Set(JSON.parse(pod.metadata.annotations?.[ANNOTATION.tools] ?? '[]') as string[]),
        );
      } catch {
        this.#coverage.set(generation, new Set());
      }
    }
    const ended = isOver(pod);
    const { lost } = this.#deps.runners.pod(
      {
        uid,
        pod: pod.metadata.name,
        pool,
        generation,
        deleting: pod.metadata.deletionTimestamp !== undefined,
        ended,
        userNamespace: pod.spec?.hostUsers === false,
      },
      now(),
    );
    const waits = pod.status?.containerStatuses
      ?.map(({ state: { waiting } = {} }) => waiting?.message)
      .find(isWithoutUserNamespaces);
    if (waits !== undefined && state && pod.spec?.hostUsers === false) this.#noUserNamespace(state, waits);
    this.#stuck.seen(pod, uid, now());
    if (lost) this.#deps.podGone(lost);
    if (ended && pod.metadata.deletionTimestamp === undefined) void this.#delete(pod.metadata.name, uid, pool, 'ended');
    const stuck = pod.status?.conditions?.find(
      ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
    );
    if (stuck && state) this.#holdBack(state, 'Unschedulable', stuck.message ?? 'no node takes another runner');
    if (state && !listed) this.#plan(state);
  }

  podGone(pod: Pod): void {
    this.#stuck.gone(pod.metadata.uid ?? '');
    const { lost } = this.#deps.runners.gone(pod.metadata.uid ?? '');
    if (lost) this.#deps.podGone(lost);
    const state = this.#pools.get(pod.metadata.labels?.[LABEL.pool] ?? '');
    state?.unseen.delete(pod.metadata.name);
    if (state) this.#plan(state);
  }

  endPod(uid: string, why: string): void {
    const runner = this.#deps.runners.get(uid);
    if (!runner) return;
    this.#deps.runners.retire(uid);
    void this.#delete(runner.pod, uid, runner.pool, why);
  }

  noticeFree(lane: string, runner: Runner | undefined): void {
    const state = this.#pools.get(lane);
    if (state) {
      if (runner) this.#replaceWorn(state, runner);
      if (runner?.walls?.UserNamespace === true) state.without = undefined;
      state.holdMs = HOLD_BACK_MS[0];
      if (state.problem && now() > state.holdUntil) state.problem = undefined;
      this.#plan(state);
    }
  }

  /**
   * Under a queue a runner has its next job at once, and the plan never sees it free: it is looked at in between. One
   * after the other, so that the work goes on.
   */
  #replaceWorn(state: PoolState, runner: Runner): void {
    if (runner.tenant === undefined || runner.task || runner.deleting || !this.#deps.stillLeading()) return;
    const worn = now() - runner.createdAt > (state.pool.spec.reuse?.maxAgeSeconds ?? 3600) * 1000;
    if (!worn && runner.generation === state.generation) return;
    const coming =
      state.unseen.size > 0 ||
      [...this.#deps.runners.inPool(state.pool.metadata.name)].some(
        ({ phase, deleting }) => phase === 'starting' && !deleting,
      );
    if (!coming) this.endPod(runner.uid, worn ? 'age' : 'old-generation');
  }

  demandChanged(lane: string): void {
    const state = this.#pools.get(lane);
    if (state) this.#plan(state);
  }

  async #delete(name: string, uid: string, pool: string, why: string): Promise<void> {
    const { kube, config, log, metrics, signal } = this.#deps;
    if (signal.aborted) return;
    metrics.podEnded(pool, why);
    // A runner that may still work gets its time to drain; one that is silent or has ended does not.
    const gracePeriodSeconds = why === 'silent' || why === 'never-ready' || why === 'ended' ? 0 : undefined;
    try {
      await retry(() => kube.delete(PODS, name, { namespace: config.runnerNamespace, uid, gracePeriodSeconds }), {
        ...DELETE_PAUSES,
        signal,
        when: (error) => !isKubeError(error, 'not-found', 'conflict'),
      });
      log.info({ pool, ...runnerFields({ pod: name, uid }), why }, 'runner pod ended');
    } catch {
      // It is gone, or the term is over.
    }
  }

  #holdBack(state: PoolState, reason: string, message: string): void {
    if (now() < state.holdUntil) return;
    state.problem = { reason, message: message.slice(0, 512) };
    state.holdUntil = now() + state.holdMs;
    state.holdMs = Math.min(state.holdMs * 2, HOLD_BACK_MS[1]);
    this.#deps.log.warn({ pool: state.pool.metadata.name, reason, message }, 'no more runners for now');
    this.#deps.events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason, message: state.problem.message });
    // Nothing else may happen in a quiet cluster: look again when the time is over.
    setTimeout(() => this.#plan(state), state.holdUntil - now() + 1).unref();
  }

  #plan(state: PoolState): void {
    if (!this.#started || this.#deps.signal.aborted || this.#pools.get(state.pool.metadata.name) !== state) return;
    state.timer ??= setTimeout(() => {
      state.timer = undefined;
      void this.#carryOut(state);
    }, PLAN_DEBOUNCE_MS);
  }

  #planned(state: PoolState): PoolPlan {
    const { runners, demand } = this.#deps;
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
      holdBack: at < state.holdUntil || this.#mounted.length === 0,
      now: at,
      lacksWall: ({ walls }) => lackedWalls(state.pool.spec, walls).length > 0,
    });
  }

  async #carryOut(state: PoolState): Promise<void> {
    if (state.planning) {
      state.again = true;
      return;
    }
    if (!this.#deps.stillLeading()) return;
    state.planning = true;
    try {
      if (state.draining) return await this.#drain(state);
      const { create, end } = this.#planned(state);
      for (const { runner, why } of end) this.endPod(runner.uid, why);
      if (create > 0) await Promise.all(Array.from({ length: create }, () => this.#create(state)));
    } finally {
      state.planning = false;
      if (state.again) {
        state.again = false;
        this.#plan(state);
      }
    }
  }

  async #create(state: PoolState): Promise<void> {
    const { kube, config, metrics, log } = this.#deps;
    const { pool, generation } = state;
    let owner: OwnerReference | undefined;
    try {
      owner = await this.#deps.owner();
    } catch (error) {
      this.#holdBack(state, error instanceof OwnerMissing ? 'OwnerMissing' : 'CreateFailed', (error as Error).message);
      return;
    }
    const pod = runnerPod(config, {
      pool: pool.metadata.name,
      spec: pool.spec,
      suffix: podSuffix(),
      generation,
      tools: this.#mounted,
      userNamespace: this.#wantsUserNamespace(state),
      owner,
    });
    // Counted before the answer: the watch may show the pod before the call returns, and a second plan may run
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
        // It may have been made: it stays counted until the watch or UNSEEN_MS tells.
        log.warn({ err: error, pool: pool.metadata.name }, 'unknown whether a runner pod was created');
        return;
      }
      state.unseen.delete(pod.metadata.name);
      const quota = isKubeError(error, 'forbidden') && /quota/i.test(error.message);
      this.#holdBack(state, quota ? 'QuotaExceeded' : 'CreateFailed', (error as Error).message);
    }
  }

  // --------------------------------------------------------- user namespaces

  #wantsUserNamespace(state: PoolState): boolean {
    const { userNamespaces = 'Preferred' } = state.pool.spec;
    if (requiredWalls(state.pool.spec).includes('UserNamespace') || userNamespaces === 'Required') return true;
    if (userNamespaces === 'Disabled') return false;
    if (state.without === undefined) return true;
    if (now() < state.without.until) return false;
    // One runner tries again; those that come beside it do without.
    return ![...this.#deps.runners.inPool(state.pool.metadata.name)].some(
      ({ phase, userNamespace, deleting }) => phase === 'starting' && userNamespace && !deleting,
    );
  }

  /**
   * Nodes without user namespaces leave the pod in its creation, for ever; so does a slow pull for a while. The
   * kubelet's Events tell which.
   */
  async #lookAtStuck(state: PoolState): Promise<void> {
    const { kube, config, runners } = this.#deps;
    if (now() - state.lookedAt < LOOK_MS) return;
    const stuck = [...runners.inPool(state.pool.metadata.name)].find((runner) => isStuck(runner, now()));
    if (!stuck) return;
    state.lookedAt = now();
    const { items } = await kube.list(EVENTS, {
      namespace: config.runnerNamespace,
      fieldSelector: `involvedObject.uid=${stuck.uid}`,
      limit: 50,
    });
    const said = items.find(
      ({ reason, message }) =>
        (reason === 'FailedCreatePodSandBox' || reason === 'Failed') && isWithoutUserNamespaces(message),
    );
    if (said) this.#noUserNamespace(state, said.message ?? '');
  }

  #noUserNamespace(state: PoolState, said: string): void {
    const { runners, log, events } = this.#deps;
    const message = printable(said, 512);
    const isNew = state.without === undefined;
    state.without = { until: now() + AGAIN_MS, message };
    if (isNew) {
      log.warn({ pool: state.pool.metadata.name, reason: message }, 'node has no user namespaces');
      events.record(PROBE_POOLS, state.pool, { type: 'Warning', reason: 'NoUserNamespace', message });
    }
    if (this.#wantsUserNamespace(state)) return;
    for (const runner of runners.inPool(state.pool.metadata.name))
      if (isStuck(runner, now())) this.endPod(runner.uid, 'never-ready');
  }

  #walls(state: PoolState, live: readonly Runner[]): Shown[] {
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

  // ------------------------------------------------------------------- status

  /** Of pools that are gone, also while nobody led: a pod goes as soon as it has nothing to do. */
  #endStranded(): void {
    for (const runner of this.#deps.runners.all())
      if (!this.#pools.has(runner.pool) && !runner.task && !runner.deleting) this.endPod(runner.uid, 'pool-gone');
  }

  async #showAll(): Promise<void> {
    if (this.#deps.stillLeading()) {
      this.#endStranded();
      for (const { name, message } of this.#stuck.find(this.#tools.values(), now()))
        this.#deps.toolStuck(name, message);
    }
    for (const state of this.#pools.values()) {
      this.#plan(state);
      await this.#lookAtStuck(state).catch((error: unknown) =>
        this.#deps.log.debug({ err: error }, 'cannot read the Events of a runner'),
      );
      await this.#show(state).catch((error: unknown) =>
        this.#deps.log.debug({ err: error }, 'a pool status could not be written yet'),
      );
    }
  }

  async #show(state: PoolState): Promise<void> {
    const { kube, runners, metrics } = this.#deps;
    const name = state.pool.metadata.name;
    const all = [...runners.inPool(name)].filter(({ deleting }) => !deleting);
    const ready = all.filter((runner) => runner.phase === 'idle' && !runner.task).length;
    const busy = all.filter((runner) => runner.task !== undefined || runner.phase === 'busy').length;
    const starting = all.filter(({ phase }) => phase === 'starting').length + state.unseen.size;
    metrics.pods(name, 'ready', ready);
    metrics.pods(name, 'busy', busy);
    metrics.pods(name, 'starting', starting);
    const untouched = all.filter(
      (runner) => runner.phase === 'idle' && !runner.task && runner.tenant === undefined,
    ).length;
    const walls = this.#walls(state, all);
    for (const { type, status: up } of walls) metrics.isolation(name, type as Wall, up === 'True');
    const wanted = this.#catalog.get(name);
    const extra = wanted ? [overriddenCondition(overridden(wanted, state.pool.spec))] : [];
    const missing = this.#missing(state);
    const [status, reason, message]: [Condition['status'], string, string] = state.draining
      ? ['False', 'Draining', 'the chart no longer has this pool']
      : missing
        ? ['False', 'IsolationMissing', missing]
        : state.problem
          ? ['False', state.problem.reason, state.problem.message]
          : this.#mounted.length === 0
            ? ['False', 'NoTools', 'no ProbeTool is Available, or all that are Available are Degraded']
            : untouched >= state.pool.spec.minReady || busy > 0
              ? ['True', 'Serving', `${untouched} untouched runners are ready`]
              : ['False', 'Filling', `${untouched} of ${state.pool.spec.minReady} runners are ready`];
    const shown = JSON.stringify([
      ready,
      busy,
      starting,
      status,
      reason,
      message,
      walls,
      extra,
      state.generation,
      state.pool.metadata.generation,
    ]);
    if (shown === state.shown || !this.#deps.stillLeading()) return;
    const conditions = [{ type: 'Ready', status, reason, message }, ...walls, ...extra].map((one): Condition => {
      const before = state.pool.status?.conditions?.find(({ type }) => type === one.type);
      return {
        ...one,
        lastTransitionTime: before?.status === one.status ? before.lastTransitionTime : new Date().toISOString(),
        ...(state.pool.metadata.generation === undefined ? {} : { observedGeneration: state.pool.metadata.generation }),
      };
    });
    const updated = await kube.mergePatchStatus(PROBE_POOLS, name, {
      ready,
      busy,
      starting,
      replicas: all.length,
      selector: `${LABEL.pool}=${name}`,
      generation: state.generation,
      conditions,
      ...(state.pool.metadata.generation === undefined ? {} : { observedGeneration: state.pool.metadata.generation }),
    });
    state.shown = shown;
    state.pool = { ...state.pool, status: updated.status ?? {} };
  }
}
