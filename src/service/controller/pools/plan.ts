/**
 * Decides how many pods a pool should create and which it should end. Pure: from the pool, the state of its runners,
 * and the demand.
 *
 * Measured: a node starts 1.3 to 4.4 runner pods a second and a pod costs about a second. So the number of concurrent
 * starts follows the demand (about three times the drain) and is bounded: more in flight only makes each of them
 * slower.
 */
import { HEARTBEAT_MS, RUNNER_PROTOCOL } from '../../../platform/bus/messages.ts';
import { MAX_LIFE } from '../../../platform/bus/runner_id.ts';
import type { ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import { holderOf, type Holder, type Runner } from './runners.ts';
import { hadCredentials, isForOneJob, mayTake, reserveOf, shareOf } from './share.ts';

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

export interface PoolPlan {
  create: number;
  /** Pods to end, with the reason for the log. */
  end: {
    runner: Runner;
    why: 'old-generation' | 'idle' | 'age' | 'surplus' | 'evicted' | 'used-up' | 'drained' | 'shrunk' | 'isolation';
  }[];
  /** Pods that are not ended, but begin another life, because their places are wanted. */
  renew: PoolPlan['end'];
}

/** Pods of a pool that start at once. */
export const MAX_STARTING = 6;
/** The same for each node that has runners of the pool, where that is more. */
const STARTING_PER_NODE = 2;
/**
 * Bound when every waiting account already holds runners. Each start takes about a second of CPU from the running jobs
 * of its node, so a growing account grows step by step: by this many, or one for each node.
 */
export const MAX_GROWING = 2;
const START_SECONDS = 1;
/** A runner with this many jobs left, at most a tenth of all, is replaced in advance: a pod takes a second to start. */
const LAST_JOBS = 20;
/** How long an unfit runner is kept to show the reason. Then another one is tried, possibly on another node. */
export const UNFIT_MS = 300_000;
const SURPLUS_MS = 60_000;
/**
 * A pod with a node starts within seconds. One that takes longer may never start, so it no longer counts as coming. One
 * without a node does: another one would wait beside it.
 */
export const START_HOPE_MS = 20_000;
/** A renewed runner takes a fraction of a second, on a busy node a few. */
export const RENEW_HOPE_MS = 5_000;
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
  /** True while creation is held back (quota, Unschedulable). */
  holdBack: boolean;
  now: number;
  /** Whether a runner lacks a wall that the pool requires. */
  lacksWall?: (runner: Runner) => boolean;
}

export function planPool({ spec, generation, runners, unseen, demand, holdBack, now, lacksWall }: PoolView): PoolPlan {
  const end: PoolPlan['end'] = [];
  const ending = new Set<Runner>();
  const finish = (runner: Runner, why: PoolPlan['end'][number]['why']) => {
    if (ending.has(runner) || runner.deleting) return;
    ending.add(runner);
    end.push({ runner, why });
  };
  const reuse = spec.reuse ?? { scope: 'account', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 120 };
  const all = runners.filter(({ deleting }) => !deleting);
  const live = all.filter(({ renewing }) => !renewing);
  const isFree = (runner: Runner) => runner.phase === 'idle' && !runner.task;
  const free = live.filter(isFree);
  const current = live.filter((runner) => runner.generation === generation);
  const isStarting = ({ phase, scheduledAt, life }: Runner) =>
    phase === 'starting' &&
    (scheduledAt === undefined || now - scheduledAt < (life === 0 ? START_HOPE_MS : RENEW_HOPE_MS));
  const pods = current.filter((runner) => runner.life === 0 && isStarting(runner)).length + unseen;
  const startingNow =
    pods +
    all.filter(
      (runner) => runner.generation === generation && (runner.renewing || (runner.life > 0 && isStarting(runner))),
    ).length;
  const untouchedNow = current.filter((runner) => isFree(runner) && runner.tenant === undefined).length;

  // Runners that must not be used again, or were unused for too long.
  for (const runner of free) {
    if (runner.tenant !== undefined && (reuse.scope === 'job' || isForOneJob(runner.tenant))) finish(runner, 'used-up');
    else if (runner.protocol !== RUNNER_PROTOCOL) finish(runner, 'old-generation');
    else if (lacksWall?.(runner) && now - runner.createdAt > UNFIT_MS) finish(runner, 'isolation');
    else if (runner.jobsDone >= reuse.maxJobs) finish(runner, 'used-up');
    else if (now - runner.createdAt > reuse.maxAgeSeconds * 1000) finish(runner, 'age');
    else if (runner.tenant !== undefined && now - runner.idleSince > reuse.idleSeconds * 1000) finish(runner, 'idle');
  }
  // A draining runner takes no more jobs and has nothing left: it reports this itself after its maximum number of jobs.
  // Its place is free at once.
  const isDraining = (runner: Runner) => runner.phase === 'draining';
  for (const runner of live) if (isDraining(runner) && !runner.task) finish(runner, 'drained');

  // An older generation ends once the new one can replace it, with surge, so a change of tools fails no job.
  const oldUntouched = free.filter((runner) => runner.generation !== generation && runner.tenant === undefined);
  for (const runner of oldUntouched.slice(0, Math.max(0, untouchedNow + oldUntouched.length - spec.minReady)))
    finish(runner, 'old-generation');
  for (const runner of free)
    if (runner.generation !== generation && runner.tenant !== undefined && untouchedNow > 0)
      finish(runner, 'old-generation');
  for (const runner of live)
    if (runner.generation !== generation && isBooting(runner, now)) finish(runner, 'old-generation');

  const waiting = demand.waiting.filter(({ jobs }) => jobs > 0);
  const waits = new Set(waiting.map(({ tenant }) => tenant));
  const held = new Map<Holder, number>();
  const jobsOf = new Map<Holder, number>();
  for (const { account, jobs } of waiting) jobsOf.set(account, (jobsOf.get(account) ?? 0) + jobs);
  /** Number of waiting accounts by how many runners they hold: 2,000 of them are not searched for each other. */
  const waitingWith: number[] = [jobsOf.size];
  let bound = 0;
  const count = (holder: Holder | undefined, by: 1 | -1): void => {
    if (holder === undefined) return;
    const had = held.get(holder) ?? 0;
    held.set(holder, had + by);
    bound += by;
    if (!jobsOf.has(holder)) return;
    waitingWith[had]! -= 1;
    waitingWith[had + by] = (waitingWith[had + by] ?? 0) + 1;
  };
  for (const runner of live) if (!ending.has(runner)) count(holderOf(runner), 1);
  const heldBy = (holder: Holder | undefined): number => (holder === undefined ? 0 : (held.get(holder) ?? 0));
  const accounts = [...jobsOf.keys()];
  const isGrowing = accounts.length > 0 && accounts.every((account) => heldBy(account) > 0);
  const fewestOfOthers = (account: Holder): number | undefined => {
    const own = heldBy(account);
    const fewest = waitingWith.findIndex((number, holding) => number > (holding === own ? 1 : 0));
    return fewest < 0 ? undefined : fewest;
  };

  // Only demand within an account's share creates pods. Otherwise one queue could fill the pool with runners that its
  // account may not use.
  let wanted = 0;
  for (const [account, jobs] of jobsOf) {
    const has = heldBy(account);
    const fewest = fewestOfOthers(account);
    const most =
      fewest !== undefined && fewest < has + jobs
        ? Math.max(shareOf(spec), has) - has
        : spec.maxPods - reserveOf(spec) - bound;
    wanted += Math.min(jobs, Math.max(most, has === 0 ? 1 : 0));
  }
  /** Pods that may still be made; negative if there are more than the maximum. Runners to be ended count no more. */
  const room = (): number => spec.maxPods - (all.length + unseen - ending.size);

  // A tenant without a runner waits and none is free: an idle runner is ended for it. The accounts that hold the most
  // come first, then the longest idle. An account at its share loses one of its own, so its new tenants never cost
  // others their warm runners.
  let open = untouchedNow + startingNow + Math.max(0, room());
  const served = new Set(
    live.filter((runner) => !isDraining(runner) && !ending.has(runner)).map(({ tenant }) => tenant),
  );
  const strangers = waiting
    .filter(({ tenant }) => !served.has(tenant))
    .sort((a, b) => heldBy(a.account) - heldBy(b.account) || b.waitMs - a.waitMs);
  const isBound = (runner: Runner): boolean => runner.tenant !== undefined && !ending.has(runner);
  /** Of the account that holds the most first, then the longest idle. */
  const byHeld = (a: Runner, b: Runner): number =>
    heldBy(holderOf(b)) - heldBy(holderOf(a)) || a.idleSince - b.idleSince;
  const firstByHeld = (mayGo: (runner: Runner) => boolean): Runner | undefined => {
    let first: Runner | undefined;
    for (const runner of free)
      if (isBound(runner) && mayGo(runner) && (first === undefined || byHeld(runner, first) < 0)) first = runner;
    return first;
  };
  const victimFor = ({ account, waitMs }: Waiting): Runner | undefined => {
    const has = heldBy(account);
    const isIts = (runner: Runner): boolean => holderOf(runner) === account;
    const mayGo = (runner: Runner): boolean => isIts(runner) || has < shareOf(spec);
    // No runner is idle without demand: after a fair wait even a tenant with waiting jobs gives one up.
    const lends = waitMs >= FAIR_WAIT_MS;
    return (
      firstByHeld((runner) => mayGo(runner) && !waits.has(runner.tenant ?? '')) ??
      (lends ? firstByHeld((runner) => mayGo(runner) && (isIts(runner) || heldBy(holderOf(runner)) > has)) : undefined)
    );
  };
  const exhausted = new Set<Holder>();
  for (const stranger of strangers) {
    const { account } = stranger;
    if (open > 0 && mayTake(spec, { held: heldBy(account), bound, fewestOfOthers: fewestOfOthers(account) })) open--;
    else {
      const victim = exhausted.has(account) ? undefined : victimFor(stranger);
      if (!victim) {
        exhausted.add(account);
        continue;
      }
      finish(victim, 'evicted');
      count(holderOf(victim), -1);
    }
    count(account, 1);
  }

  // The idle runners of others fill the pool, and an account below its share waits for more than it holds. Holders with
  // at least two more than it give some up, so that no account loses what it would take back at once; and any holder
  // those that it has not used for a while.
  const places = spec.maxPods - reserveOf(spec);
  for (const { account, jobs, waitMs } of waiting.toSorted((a, b) => heldBy(a.account) - heldBy(b.account))) {
    const has = heldBy(account);
    if (has === 0 || waitMs < FAIR_WAIT_MS) continue;
    let lacking = bound + Math.min(jobs, MAX_GROWING, shareOf(spec) - has) - places;
    while (lacking-- > 0) {
      const victim = firstByHeld(
        (runner) =>
          !waits.has(runner.tenant ?? '') && (heldBy(holderOf(runner)) > has + 1 || now - runner.idleSince > UNUSED_MS),
      );
      if (!victim) break;
      finish(victim, 'evicted');
      count(holderOf(victim), -1);
    }
  }

  const lastJobs = Math.min(LAST_JOBS, Math.floor(reuse.maxJobs / 10));
  const isNearEnd = (runner: Runner): boolean => isBound(runner) && reuse.maxJobs - runner.jobsDone <= lastJobs;
  const replaced = new Set(live.filter(isNearEnd).map(holderOf)).size;

  // Accounts without a runner took the reserve of a full pool. Idle runners of the accounts that hold the most make
  // room for it again, but never the last one of an account.
  let missing = reserveOf(spec) + replaced - (untouchedNow + startingNow + Math.max(0, room()));
  while (missing-- > 0) {
    const victim = firstByHeld(
      (runner) => !waits.has(runner.tenant ?? '') && now - runner.idleSince > SPARE_MS && heldBy(holderOf(runner)) > 1,
    );
    if (!victim) break;
    finish(victim, 'evicted');
    count(holderOf(victim), -1);
  }

  // More runners than the maximum: the pool was scaled down, or a burst is over.
  let over = Math.max(0, -room());
  for (const runner of [...free].sort((a, b) => a.idleSince - b.idleSince)) {
    if (over <= 0) break;
    if (ending.has(runner)) continue;
    finish(runner, 'shrunk');
    over--;
  }
  const surplus = current.filter(
    (runner) =>
      isFree(runner) && runner.tenant === undefined && !ending.has(runner) && now - runner.idleSince > SURPLUS_MS,
  );
  const want = spec.minReady + wanted + replaced;
  for (const runner of surplus.slice(0, Math.max(0, untouchedNow + startingNow - want))) finish(runner, 'surplus');

  // A full pool has no room for a first runner of the new generation, so the longest idle runner of an old one ends.
  if (room() <= 0 && untouchedNow + startingNow === 0) {
    const [oldest] = free
      .filter((runner) => runner.generation !== generation && !ending.has(runner))
      .sort((a, b) => a.idleSince - b.idleSince);
    if (oldest) finish(oldest, 'old-generation');
  }

  const have = untouchedNow + startingNow - end.filter(({ why }) => why === 'surplus').length;
  const isRenewable = mayRenew(spec, generation, now);
  const renewable = end.filter(({ runner, why }) => isRenewable(runner, why) && lacksWall?.(runner) !== true);
  const renew = renewable
    .sort((a, b) => Number(b.why === 'evicted') - Number(a.why === 'evicted'))
    .slice(0, Math.max(0, Math.min(room(), want - have)));
  const renewed = new Set(renew.map(({ runner }) => runner));

  const nodes = new Set(all.flatMap(({ node }) => node ?? [])).size;
  const startingMost = Math.max(
    isGrowing ? Math.max(MAX_GROWING, nodes) : Math.max(MAX_STARTING, STARTING_PER_NODE * nodes),
    Math.ceil(3 * demand.drainPerSecond * START_SECONDS),
  );
  const create = Math.min(want - have - renew.length, room() - renew.length, startingMost - pods);
  return {
    create: holdBack ? 0 : Math.max(0, create),
    end: end.filter(({ runner }) => !renewed.has(runner)),
    renew,
  };
}

/**
 * Whether a runner may go to another tenant without a new pod. Never after a source with credentials, and its pod gets
 * neither older nor does it run more jobs than without.
 */
function mayRenew({ reuse }: ProbePoolSpec, generation: string, now: number) {
  return (runner: Runner, why: PoolPlan['end'][number]['why']): boolean =>
    reuse?.renew === 'process' &&
    (why === 'evicted' || why === 'used-up' || why === 'idle') &&
    runner.tenant !== undefined &&
    !hadCredentials(runner.tenant) &&
    runner.generation === generation &&
    runner.protocol === RUNNER_PROTOCOL &&
    runner.jobsDone < reuse.maxJobs &&
    now - runner.createdAt <= reuse.maxAgeSeconds * 1000 &&
    runner.life < MAX_LIFE;
}
