/**
 * Decides how many pods a pool should create and which it should end. Pure: from the pool, the state of its runners,
 * and the demand.
 *
 * Measured: a node starts 1.3 to 4.4 runner pods a second and a pod costs about a second. So the number of concurrent
 * starts follows the demand (about three times the drain) and is bounded: more in flight only makes each of them
 * slower. Where starts take long, for whatever reason, fewer begin at once.
 */
import { HEARTBEAT_MS, RUNNER_PROTOCOL } from '../../../platform/bus/messages.ts';
import { Tally } from '../../../base/tally.ts';
import { MAX_LIFE } from '../../../platform/bus/runner_id.ts';
import { REUSE, type ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import { holderOf, isReturning, lifeBegan, type Holder, type Runner } from './runners.ts';
import { startsAtOnce, type FailedStarts } from '../retry_policy.ts';
import { hadCredentials, isForOneJob, mayTake, reserveOf, shareOf, type Holding } from './share.ts';

/**
 * Waiting jobs of one tenant that lack only a runner, the account whose share they count against, and the waiting time
 * of the oldest.
 */
export interface Waiting {
  tenant: string;
  account: Holder;
  jobs: number;
  waitMs: number;
}

export interface Demand {
  waiting: readonly Waiting[];
  /** Untouched pods taken per second, over the last seconds. */
  drainPerSecond: number;
}

export type WhyEnded =
  'old-generation' | 'idle' | 'age' | 'surplus' | 'evicted' | 'used-up' | 'drained' | 'shrunk' | 'isolation';

export interface Ending {
  runner: Runner;
  /** For the log. */
  why: WhyEnded;
}

export interface Renewal extends Ending {
  /** For a tenant whose runner is worn. Otherwise for others, who want the place. */
  keepsTenant: boolean;
}

export interface PoolPlan {
  create: number;
  /** Pods to end. */
  end: Ending[];
  /** Pods that are not ended, but begin another life. */
  renew: Renewal[];
}

/** Pods of a pool that start at once. */
export const MAX_STARTING = 6;
/** The same for each node that has runners of the pool, where that is more. */
const STARTING_PER_NODE = 2;
/**
 * Bound when every waiting account already holds runners. Each start takes about a second of CPU from the running jobs
 * of its node, so a growing account grows step by step: by this many, or one for each node. An account whose jobs each
 * take a pod of their own, as signed addresses do, never stops growing: where others hold runners, too, its demand does
 * not raise the bound.
 */
export const MAX_GROWING = 2;
const START_SECONDS = 1;
/** How long an unfit runner is kept to show the reason. Then another one is tried, possibly on another node. */
export const UNFIT_MS = 300_000;
const SURPLUS_MS = 60_000;
/** Pause between two ends on a node: each takes CPU from the jobs there. */
export const END_PAUSE_MS = 3_000;
/**
 * A pod with a node starts within seconds. One that takes longer may never start, so it no longer counts as coming. One
 * without a node does: another one would wait beside it.
 */
export const START_HOPE_MS = 20_000;
/** A renewed runner takes a fraction of a second, on a busy node a few. */
export const RENEW_HOPE_MS = 5_000;
/**
 * A pod ends after so many lives for its tenant, and at this age: an agent that was taken over, and stays although it
 * says that it was renewed, ends with it.
 */
export const MOST_LIVES = 24;
export const MOST_POD_MS = 24 * 3_600_000;
/**
 * Runners that were made together would be worn together, and their pods end in the same seconds. So each has its own
 * part of the jobs and ages that are allowed, this one at least. By its pod's name, the same under every leader.
 */
export const LEAST_PART = 0.8;
export function partOf({ pod }: Pick<Runner, 'pod'>): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < pod.length; at++) hash = Math.imul(hash ^ pod.charCodeAt(at), 0x01000193);
  return LEAST_PART + ((1 - LEAST_PART) * (hash >>> 0)) / 2 ** 32;
}
/** By then a new leader has had a heartbeat of every runner, including busy ones. Before, all seem to be starting. */
export const HEARD_MS = 2 * HEARTBEAT_MS;
/** Whether the runner's agent is not up yet. */
export const isBooting = ({ phase, createdAt }: Pick<Runner, 'phase' | 'createdAt'>, now: number): boolean =>
  phase === 'starting' && now - createdAt > HEARD_MS;
/** Idle time after which a runner of an account with several may make room for the reserve of a full pool. */
const SPARE_MS = 2_000;
/** Idle time after which a runner of a full pool goes to an account whose jobs wait. */
const UNUSED_MS = 5_000;
/** Waiting time of a tenant without a pod after which a busy tenant gives up a pod at its next pause. */
const FAIR_WAIT_MS = 1_000;

export interface PoolView {
  spec: ProbePoolSpec;
  /** Generation of new pods. */
  generation: string;
  runners: readonly Runner[];
  /** Created pods that the watch has not shown yet. */
  unseen: number;
  demand: Demand;
  failedStarts?: FailedStarts;
  /** True while creation is held back (quota, Unschedulable). */
  holdBack: boolean;
  now: number;
  /** When a runner that nobody uses last ended on each node. */
  endedOn?: ReadonlyMap<string, number>;
  /** Whether a runner lacks a wall that the pool requires. */
  lacksWall?: (runner: Runner) => boolean;
}

/**
 * The plan by its steps, each of which sees what the ones before it end: first what must not be used again, then what
 * makes room for others, then what is too much. What is missing after them is renewed or created.
 */
export function planPool(view: PoolView): PoolPlan {
  const draft = new Draft(view);
  endUnusable(draft);
  endOldGenerations(draft);
  const shares = new Shares(draft);
  const wanted = podsWanted(draft, shares);
  evictForNewTenants(draft, shares);
  evictForShares(draft, shares);
  evictForReserve(draft, shares);
  shrink(draft);
  const want = view.spec.minReady + wanted;
  endSurplus(draft, want);
  endOldestOfFullPool(draft);
  return replaceAndCreate(draft, want, shares);
}

/** Of a runner that nobody uses. It can wait for its turn: who needs its place has it evicted. */
export const endsInTurn = (why: WhyEnded): boolean => why === 'idle' || why === 'surplus';

/** A runner without a node holds up only others without one. */
export const nodeOf = ({ node }: Pick<Runner, 'node'>): string => node ?? '';

const isIdle = (runner: Runner): boolean => runner.phase === 'idle' && !runner.task;
/** It takes no more jobs. */
const isDraining = (runner: Runner): boolean => runner.phase === 'draining';
const byIdleTime = (a: Runner, b: Runner): number => a.idleSince - b.idleSince;

/** The runners of a pool as a plan finds them, and those that it ends. */
export class Draft {
  readonly view: PoolView;
  readonly reuse: NonNullable<ProbePoolSpec['reuse']>;
  /** Whose pods are not being deleted. */
  readonly all: readonly Runner[];
  /** Of these, those that are not being renewed. */
  readonly live: readonly Runner[];
  /** Of these, those without a task. */
  readonly idle: readonly Runner[];
  /** Ready runners of the current generation without a tenant. */
  readonly untouched: number;
  /** Pods of the current generation that are starting; `starting`: and runners that are renewed for others. */
  readonly startingPods: number;
  readonly starting: number;
  /** Pods of the current generation that take longer than a start takes. */
  readonly slow: readonly Runner[];
  /** Runners that their tenants have again in a moment. */
  readonly returning: readonly Runner[];
  readonly end: Ending[] = [];
  /** Runners that may become new processes of their tenants, unless a later step ends them. */
  readonly worn: Ending[] = [];
  readonly #ending = new Set<Runner>();
  /** Nodes on which no other runner ends in turn for now. */
  readonly #resting: Set<string>;

  constructor(view: PoolView) {
    this.view = view;
    const ended = [...(view.endedOn ?? [])].filter(([, at]) => view.now - at < END_PAUSE_MS);
    this.#resting = new Set(ended.map(([node]) => node));
    this.reuse = view.spec.reuse ?? REUSE;
    this.all = view.runners.filter(({ deleting }) => !deleting);
    this.live = this.all.filter(({ renewing }) => !renewing);
    this.idle = this.live.filter(isIdle);
    const current = this.all.filter((runner) => this.isCurrent(runner));
    this.untouched = current.filter(
      (runner) => !runner.renewing && isIdle(runner) && runner.tenant === undefined,
    ).length;
    const booting = current.filter(({ life, phase, renewing }) => life === 0 && phase === 'starting' && !renewing);
    this.slow = booting.filter((runner) => !this.#isStarting(runner));
    this.startingPods = booting.length - this.slow.length + view.unseen;
    const renewed = current.filter((runner) => runner.renewing || (runner.life > 0 && this.#isStarting(runner)));
    this.returning = renewed.filter(isReturning);
    this.starting = this.startingPods + renewed.length - this.returning.length;
  }

  isCurrent({ generation }: Runner): boolean {
    return generation === this.view.generation;
  }

  /** Not one that takes too long: it may never start. */
  #isStarting({ phase, scheduledAt, life }: Runner): boolean {
    const hopeMs = life === 0 ? START_HOPE_MS : RENEW_HOPE_MS;
    return phase === 'starting' && (scheduledAt === undefined || this.view.now - scheduledAt < hopeMs);
  }

  /** Runners that nobody uses end one at a time on each node. */
  finish(runner: Runner, why: WhyEnded): void {
    if (this.#ending.has(runner)) return;
    if (endsInTurn(why)) {
      if (this.#resting.has(nodeOf(runner))) return;
      this.#resting.add(nodeOf(runner));
    }
    this.#ending.add(runner);
    this.end.push({ runner, why });
  }

  isEnding(runner: Runner): boolean {
    return this.#ending.has(runner);
  }

  isBound(runner: Runner): boolean {
    return runner.tenant !== undefined && !this.isEnding(runner);
  }

  /** Pods that may still be made; negative if there are more than the maximum. Runners to be ended count no more. */
  room(): number {
    return this.view.spec.maxPods - (this.all.length + this.view.unseen - this.end.length);
  }

  /** Runners that a job can have soon: untouched, starting, or not made yet. */
  open(): number {
    return this.untouched + this.starting + Math.max(0, this.room());
  }
}

/** How many runners each account holds and wants, after the runners that must not be used again. */
export class Shares {
  readonly waiting: readonly Waiting[];
  /** Waiting jobs by account, without those that a returning runner takes in a moment. */
  readonly jobs: ReadonlyMap<Holder, number>;
  /** Whether every waiting account already holds runners. */
  readonly isGrowing: boolean;
  readonly #draft: Draft;
  readonly #tenants: ReadonlySet<string>;
  readonly #held = new Tally<Holder>();
  /** Number of waiting accounts by how many runners they hold: 2,000 of them are not searched for each other. */
  readonly #waitingWith: number[];

  constructor(draft: Draft) {
    this.#draft = draft;
    this.waiting = draft.view.demand.waiting.filter(({ jobs }) => jobs > 0);
    this.#tenants = new Set(this.waiting.map(({ tenant }) => tenant));
    const jobs = new Map<Holder, number>();
    for (const { account, jobs: more } of this.waiting) jobs.set(account, (jobs.get(account) ?? 0) + more);
    for (const runner of draft.returning) {
      const holder = holderOf(runner) ?? [...jobs].find(([, left]) => left > 0)?.[0];
      const left = holder === undefined ? 0 : (jobs.get(holder) ?? 0);
      if (holder !== undefined && left > 0) jobs.set(holder, left - 1);
    }
    this.jobs = jobs;
    this.#waitingWith = [jobs.size];
    for (const runner of draft.all) if (!draft.isEnding(runner)) this.count(holderOf(runner), 1);
    this.isGrowing = jobs.size > 0 && [...jobs.keys()].every((account) => this.heldBy(account) > 0);
  }

  count(holder: Holder | undefined, by: 1 | -1): void {
    if (holder === undefined) return;
    const had = this.#held.of(holder);
    this.#held.add(holder, by);
    if (!this.jobs.has(holder)) return;
    this.#waitingWith[had]! -= 1;
    this.#waitingWith[had + by] = (this.#waitingWith[had + by] ?? 0) + 1;
  }

  heldBy(holder: Holder | undefined): number {
    return holder === undefined ? 0 : this.#held.of(holder);
  }

  /** Runners held by any account. */
  get bound(): number {
    return this.#held.total;
  }

  /** Whether several accounts hold runners. */
  get isShared(): boolean {
    return this.#held.size > 1;
  }

  /** The fewest runners that another waiting account holds. */
  fewestOfOthers(account: Holder): number | undefined {
    const own = this.heldBy(account);
    const fewest = this.#waitingWith.findIndex((number, holding) => number > (holding === own ? 1 : 0));
    return fewest < 0 ? undefined : fewest;
  }

  holding(account: Holder): Holding {
    return { held: this.heldBy(account), bound: this.bound, fewestOfOthers: this.fewestOfOthers(account) };
  }

  hasWaitingJobs({ tenant }: Runner): boolean {
    return this.#tenants.has(tenant ?? '');
  }

  /** Of the idle runners that may go, one of the account that holds the most, and of these the longest idle. */
  victim(mayGo: (runner: Runner) => boolean): Runner | undefined {
    let first: Runner | undefined;
    for (const runner of this.#draft.idle)
      if (this.#draft.isBound(runner) && mayGo(runner) && (first === undefined || this.#byHeld(runner, first) < 0))
        first = runner;
    return first;
  }

  #byHeld(a: Runner, b: Runner): number {
    return this.heldBy(holderOf(b)) - this.heldBy(holderOf(a)) || byIdleTime(a, b);
  }

  evict(runner: Runner): void {
    this.#draft.finish(runner, 'evicted');
    this.count(holderOf(runner), -1);
  }
}

/** Runners that must not be used again, were unused for too long, or are worn. */
export function endUnusable(draft: Draft): void {
  for (const runner of draft.idle) {
    const worn = whyWorn(draft.view, runner);
    const mayGoOn = worn !== undefined && mayRestart(draft.view, runner);
    const why = whyUnusable(draft, runner) ?? (mayGoOn ? undefined : worn);
    if (why) draft.finish(runner, why);
    else if (worn) draft.worn.push({ runner, why: worn });
  }
  // A draining runner takes no more jobs and has nothing left. Its place is free at once.
  for (const runner of draft.live) if (isDraining(runner) && !runner.task) draft.finish(runner, 'drained');
}

function whyUnusable({ view: { now, lacksWall }, reuse }: Draft, runner: Runner): WhyEnded | undefined {
  const { tenant, protocol, createdAt, idleSince } = runner;
  if (tenant !== undefined && (reuse.scope === 'job' || isForOneJob(tenant))) return 'used-up';
  if (protocol !== RUNNER_PROTOCOL) return 'old-generation';
  if (lacksWall?.(runner) && now - createdAt > UNFIT_MS) return 'isolation';
  return tenant !== undefined && now - idleSince > reuse.idleSeconds * 1000 ? 'idle' : undefined;
}

/** The process did its jobs, or is too old, or its pod is. The pod may have had others before it. */
export function whyWorn(
  { spec: { reuse = REUSE }, now }: Pick<PoolView, 'spec' | 'now'>,
  runner: Runner,
): 'used-up' | 'age' | undefined {
  const part = partOf(runner);
  if (runner.jobsDone - (runner.jobsBefore ?? 0) >= Math.ceil(reuse.maxJobs * part)) return 'used-up';
  const mostMs = reuse.maxAgeSeconds * 1000 * part;
  // By the API server's clock, which goes on when another replica leads.
  const isOldPod = now - runner.podCreatedAt > Math.max(MOST_POD_MS * part, mostMs);
  return isOldPod || now - lifeBegan(runner) > mostMs ? 'age' : undefined;
}

/** An older generation ends once the new one can replace it, with surge, so a change of tools fails no job. */
export function endOldGenerations(draft: Draft): void {
  const { untouched, view } = draft;
  const old = draft.live.filter((runner) => !draft.isCurrent(runner));
  const oldUntouched = old.filter((runner) => isIdle(runner) && runner.tenant === undefined);
  for (const runner of oldUntouched.slice(0, Math.max(0, untouched + oldUntouched.length - view.spec.minReady)))
    draft.finish(runner, 'old-generation');
  for (const runner of old)
    if (isIdle(runner) && runner.tenant !== undefined && untouched > 0) draft.finish(runner, 'old-generation');
  for (const runner of old) if (isBooting(runner, view.now)) draft.finish(runner, 'old-generation');
}

/**
 * Pods for the waiting jobs. Only demand within an account's share creates pods. Otherwise one queue could fill the
 * pool with runners that its account may not use.
 */
export function podsWanted({ view: { spec } }: Draft, shares: Shares): number {
  let wanted = 0;
  for (const [account, jobs] of shares.jobs) {
    const has = shares.heldBy(account);
    const fewest = shares.fewestOfOthers(account);
    const most =
      fewest !== undefined && fewest < has + jobs
        ? Math.max(shareOf(spec), has) - has
        : spec.maxPods - reserveOf(spec) - shares.bound;
    wanted += Math.min(jobs, Math.max(most, has === 0 ? 1 : 0));
  }
  return wanted;
}

/**
 * A tenant without a runner waits and none is free: an idle runner is ended for it. The accounts that hold the most
 * come first, then the longest idle. An account at its share loses one of its own, so its new tenants never cost others
 * their warm runners.
 */
export function evictForNewTenants(draft: Draft, shares: Shares): void {
  const { spec } = draft.view;
  let open = draft.open();
  const serving = draft.live.filter((runner) => !isDraining(runner) && !draft.isEnding(runner));
  const served = new Set([...serving, ...draft.returning].map(({ tenant }) => tenant));
  const strangers = shares.waiting
    .filter(({ tenant }) => !served.has(tenant))
    .sort((a, b) => shares.heldBy(a.account) - shares.heldBy(b.account) || b.waitMs - a.waitMs);
  const exhausted = new Set<Holder>();
  for (const stranger of strangers) {
    const { account } = stranger;
    if (open > 0 && mayTake(spec, shares.holding(account))) open--;
    else {
      const victim = exhausted.has(account) ? undefined : victimFor(stranger, spec, shares);
      if (!victim) {
        exhausted.add(account);
        continue;
      }
      shares.evict(victim);
    }
    shares.count(account, 1);
  }
}

function victimFor({ account, waitMs }: Waiting, spec: ProbePoolSpec, shares: Shares): Runner | undefined {
  const has = shares.heldBy(account);
  const isIts = (runner: Runner): boolean => holderOf(runner) === account;
  const mayGo = (runner: Runner): boolean => isIts(runner) || has < shareOf(spec);
  const unused = shares.victim((runner) => mayGo(runner) && !shares.hasWaitingJobs(runner));
  if (unused || waitMs < FAIR_WAIT_MS) return unused;
  // No runner is idle without demand: after a fair wait even a tenant with waiting jobs gives one up.
  return shares.victim((runner) => mayGo(runner) && (isIts(runner) || shares.heldBy(holderOf(runner)) > has));
}

/**
 * The idle runners of others fill the pool, and an account below its share waits for more than it holds. Holders with
 * at least two more than it give some up, so that no account loses what it would take back at once; and any holder
 * those that it has not used for a while.
 */
export function evictForShares({ view: { spec, now } }: Draft, shares: Shares): void {
  const places = spec.maxPods - reserveOf(spec);
  const byHeld = shares.waiting.toSorted((a, b) => shares.heldBy(a.account) - shares.heldBy(b.account));
  for (const { account, jobs, waitMs } of byHeld) {
    const has = shares.heldBy(account);
    if (has === 0 || waitMs < FAIR_WAIT_MS) continue;
    let lacking = shares.bound + Math.min(jobs, MAX_GROWING, shareOf(spec) - has) - places;
    while (lacking-- > 0) {
      const victim = shares.victim(
        (runner) =>
          !shares.hasWaitingJobs(runner) &&
          (shares.heldBy(holderOf(runner)) > has + 1 || now - runner.idleSince > UNUSED_MS),
      );
      if (!victim) break;
      shares.evict(victim);
    }
  }
}

/**
 * Accounts without a runner took the reserve of a full pool. Idle runners of the accounts that hold the most make room
 * for it again, but never the last one of an account.
 */
export function evictForReserve(draft: Draft, shares: Shares): void {
  const { spec, now } = draft.view;
  let missing = reserveOf(spec) - draft.open();
  while (missing-- > 0) {
    const victim = shares.victim(
      (runner) =>
        !shares.hasWaitingJobs(runner) && now - runner.idleSince > SPARE_MS && shares.heldBy(holderOf(runner)) > 1,
    );
    if (!victim) break;
    shares.evict(victim);
  }
}

/** More runners than the maximum: the pool was scaled down, or a burst is over. */
export function shrink(draft: Draft): void {
  const over = Math.max(0, -draft.room());
  const left = draft.idle.filter((runner) => !draft.isEnding(runner)).sort(byIdleTime);
  for (const runner of left.slice(0, over)) draft.finish(runner, 'shrunk');
}

/** `want`: how many untouched runners there should be. */
export function endSurplus(draft: Draft, want: number): void {
  const unused = draft.idle.filter(
    (runner) =>
      draft.isCurrent(runner) &&
      runner.tenant === undefined &&
      !draft.isEnding(runner) &&
      draft.view.now - runner.idleSince > SURPLUS_MS,
  );
  for (const runner of unused.slice(0, Math.max(0, draft.untouched + draft.starting - want)))
    draft.finish(runner, 'surplus');
}

/** A full pool has no room for a first runner of the new generation, so the longest idle runner of an old one ends. */
export function endOldestOfFullPool(draft: Draft): void {
  if (draft.room() > 0 || draft.untouched + draft.starting > 0) return;
  const [oldest] = draft.idle.filter((runner) => !draft.isCurrent(runner) && !draft.isEnding(runner)).sort(byIdleTime);
  if (oldest) draft.finish(oldest, 'old-generation');
}

/**
 * Runners that are ended for others begin another life where their places are wanted; the rest is created. Worn runners
 * become new processes one at a time: until then each is as good as any other.
 */
function replaceAndCreate(draft: Draft, want: number, shares: Shares): PoolPlan {
  const { end, view } = draft;
  const lacking = want - (draft.untouched + draft.starting - end.filter(({ why }) => why === 'surplus').length);
  const renew = end
    .filter((ending) => mayRenew(draft, ending))
    .sort((a, b) => Number(b.why === 'evicted') - Number(a.why === 'evicted'))
    .slice(0, Math.max(0, Math.min(draft.room(), lacking)));
  const create = Math.min(
    lacking - renew.length,
    draft.room() - renew.length,
    mostStarting(draft, shares) - draft.startingPods,
  );
  const renewed = new Set(renew);
  const worn = draft.returning.length > 0 ? undefined : draft.worn.find(({ runner }) => !draft.isEnding(runner));
  return {
    create: view.holdBack ? 0 : Math.max(0, create),
    end: end.filter((ending) => !renewed.has(ending)),
    renew: [
      ...renew.map((ending) => ({ ...ending, keepsTenant: false })),
      ...(worn ? [{ ...worn, keepsTenant: true }] : []),
    ],
  };
}

/**
 * Pods that may be starting at once, besides those that take long. Where every node has one of these, it is the nodes
 * that are slow, and not these pods: they are a round that fails, and they count.
 */
function mostStarting({ all, slow, view }: Draft, { isGrowing, isShared }: Shares): number {
  const nodes = new Set(all.flatMap(({ node }) => node ?? []));
  const drained = Math.ceil(3 * view.demand.drainPerSecond * START_SECONDS);
  const most = !isGrowing
    ? Math.max(MAX_STARTING, STARTING_PER_NODE * nodes.size, drained)
    : Math.max(MAX_GROWING, nodes.size, isShared ? 0 : drained);
  const rounds = view.failedStarts?.rounds ?? 0;
  const slowNodes = new Set(slow.map(nodeOf));
  const isSlow = slow.length > 0 && [...nodes].every((node) => slowNodes.has(node));
  return isSlow ? startsAtOnce(most, { rounds: rounds + 1 }) - slow.length : startsAtOnce(most, { rounds });
}

type Present = Pick<PoolView, 'generation' | 'lacksWall' | 'now'>;

/** Whether the pool would make its pod today, and an agent can begin another life in it. */
const isRenewable = ({ generation, lacksWall }: Present, runner: Runner): boolean =>
  runner.generation === generation &&
  runner.protocol === RUNNER_PROTOCOL &&
  runner.life < MAX_LIFE &&
  lacksWall?.(runner) !== true;

/** Whether a worn runner becomes a new process for its tenant. No border is crossed. */
export const mayRestart = (present: Present, runner: Runner): boolean =>
  runner.tenant !== undefined &&
  !isForOneJob(runner.tenant) &&
  runner.life < MOST_LIVES &&
  present.now - runner.podCreatedAt < MOST_POD_MS * partOf(runner) &&
  isRenewable(present, runner);

/**
 * Whether a runner may go to another tenant without a new pod. Never after a source with credentials, nor in a pod that
 * is older, or did more jobs, than one process may.
 */
export function mayRenew({ view }: Draft, { runner, why }: Ending): boolean {
  const { reuse } = view.spec;
  return (
    reuse?.renew === 'process' &&
    (why === 'evicted' || why === 'used-up' || why === 'idle') &&
    runner.tenant !== undefined &&
    !hadCredentials(runner.tenant) &&
    runner.jobsDone < reuse.maxJobs &&
    view.now - runner.podCreatedAt <= reuse.maxAgeSeconds * 1000 &&
    isRenewable(view, runner)
  );
}
