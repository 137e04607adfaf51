/**
 * The leader's view of the runner pods, from two sources: the pods of the API server (created, deleted) and the
 * heartbeats of their agents (ready, busy). `Running` does not mean ready: only a heartbeat makes a runner usable. It
 * has no clock: callers pass monotonic milliseconds.
 */
import { type Attempt, type Heartbeat, RUNNER_PROTOCOL, type Walls } from '../../../platform/bus/messages.ts';
import type { RunnerPhase, RunnerState } from '../../../platform/bus/runner_phase.ts';
import { WALLS, type Wall } from '../../../platform/kube/probe_pool.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import { Tally } from '../../../base/tally.ts';
import { shunMs } from '../retry_policy.ts';
import { accountIn, isForOneJob } from './share.ts';
import { makeRunnerId } from '../../../platform/bus/runner_id.ts';

export interface Runner {
  /** Its id: that of its pod and life. */
  uid: string;
  podUid: string;
  /** How often its pod was renewed before. */
  life: number;
  /** The pod's resourceVersion, as last seen. */
  version: string | undefined;
  pod: string;
  pool: string;
  generation: string;
  /** As last reported by its agent; `starting` before. */
  phase: RunnerPhase | 'starting';
  /** Bound for its life; undefined while untouched. */
  tenant: string | undefined;
  /** Its tenant as its pod says, which the next leader believes. */
  noted: string | undefined;
  /**
   * Account of its latest job. The tenant decides who shares the pod, the account whose share of the pool it counts
   * against.
   */
  account: number | undefined;
  /**
   * The job assigned by the leader (reserved, prepared or running), and the runner's count of finished jobs at that
   * time. One that is kept, a chunk, is released by the leader alone.
   */
  task: (Attempt & { doneBefore: number; reserved: boolean; isKept?: boolean }) | undefined;
  /** In all lives of its pod; `jobsBefore`: when this life began, or this leader first heard of it. */
  jobsDone: number;
  jobsBefore: number | undefined;
  /** When its pod was first seen by this leader; `podCreatedAt`: when it was created, by the API server's clock. */
  createdAt: number;
  podCreatedAt: number;
  /** When its pod had a node, or began this life; undefined while the pod waits for a node. */
  scheduledAt: number | undefined;
  node: string | undefined;
  readyAt: number | undefined;
  idleSince: number;
  /** Reported by its agent; undefined before the first heartbeat. */
  protocol: number | undefined;
  /** Time of the last heartbeat; undefined before the first. */
  seenAt: number | undefined;
  deleting: boolean;
  /** It is asked to end, so that its pod begins another life. */
  renewing: boolean;
  /** The next life is for its tenant, too. */
  keepsTenant: boolean;
  /** Whether its pod requests a user namespace. */
  userNamespace: boolean;
  /** Reported by its agent. */
  walls: Walls | undefined;
  /** Of its node, as reported by its agent. */
  cores: number | undefined;
  /** Consecutive refusals, and the time until which it gets no orders (0: available). */
  refusals: number;
  shunnedUntil: number;
}

/** The task of a deleted pod, if it was assigned to it. */
export interface LostTask extends Attempt {
  uid: string;
}

type OfPod = 'podUid' | 'life' | 'version' | 'pod' | 'pool' | 'generation' | 'deleting' | 'userNamespace' | 'node';

/** What the watch shows of a pod. Its tenant is that of this life; undefined if a leader noted none. */
export interface WatchedPod extends Pick<Runner, OfPod | 'tenant'> {
  /** How long ago it was created. */
  ageMs: number;
  ended: boolean;
}

/** An account, or the tenant of a runner whose account this leader does not know. */
export type Holder = number | string;

/**
 * The holder whose share of the pool a runner counts against. An idle runner that is open to everybody counts against
 * none, nor does one that drains or is renewed for others: it takes no more jobs.
 */
export function holderOf(runner: Runner): Holder | undefined {
  const { tenant, account, task, deleting, renewing, keepsTenant, phase } = runner;
  const isOver = deleting || (renewing ? !keepsTenant : phase === 'draining' && !task);
  if (isOver || tenant === undefined || (tenant === 'any' && !task)) return undefined;
  return account ?? tenant;
}

/** How long its pod took to start, at its first heartbeat; undefined otherwise. */
export const startedWithinMs = ({ life, readyAt, seenAt, scheduledAt }: Runner): number | undefined =>
  life === 0 && readyAt !== undefined && readyAt === seenAt ? readyAt - (scheduledAt ?? readyAt) : undefined;

/** Whether it has a tenant whose jobs it takes again in a moment, as another process. */
export const isReturning = ({ tenant, deleting, renewing, keepsTenant, phase }: Runner): boolean =>
  tenant !== undefined && !deleting && (renewing ? keepsTenant : phase === 'starting');

type Worker = Pick<Runner, 'task' | 'phase' | 'renewing'>;

/** What it does, whether or not its pod is being deleted. */
export function workOf({ task, phase, renewing }: Worker): Exclude<RunnerState, 'ending'> {
  if (renewing) return 'starting';
  const isUnused = phase === 'starting' || phase === 'idle' || phase === 'draining';
  return task === undefined && isUnused ? phase : 'busy';
}

/** State of the runner, as counted in `kubectl get pp`. */
export const runnerState = (runner: Worker & Pick<Runner, 'deleting'>): RunnerState =>
  runner.deleting ? 'ending' : workOf(runner);

const pick = (walls: Walls): Walls =>
  Object.fromEntries(WALLS.flatMap((wall) => (walls[wall] === undefined ? [] : [[wall, walls[wall]]])));

const isFree = ({ phase, task, deleting, renewing, shunnedUntil, protocol }: Runner): boolean =>
  phase === 'idle' && !task && !deleting && !renewing && shunnedUntil === 0 && protocol === RUNNER_PROTOCOL;

export class Runners {
  #all = new Map<string, Runner>();
  /** The current life of each pod. */
  #byPod = new Map<string, Runner>();
  /** Idle runners without a task, by pool and tenant ('' for untouched). */
  #free = new Map<string, Map<string, Set<Runner>>>();
  /** Tenants of runners, from the jobs that they are known to have run. */
  #owners = new Map<string, { tenant: string; account: number | undefined }>();
  /** Number of runners held by each account, by pool. */
  #held = new Map<string, Tally<Holder>>();

  get(uid: string): Runner | undefined {
    return this.#all.get(uid);
  }
  ofPod(podUid: string): Runner | undefined {
    return this.#byPod.get(podUid);
  }
  all(): Iterable<Runner> {
    return this.#all.values();
  }
  *inPool(pool: string): Iterable<Runner> {
    for (const runner of this.#all.values()) if (runner.pool === pool) yield runner;
  }

  /** Number of runners of the pool that count against this account's share. */
  held(pool: string, holder: Holder): number {
    return this.#held.get(pool)?.of(holder) ?? 0;
  }
  /** Number of runners of the pool held by any account. */
  bound(pool: string): number {
    return this.#held.get(pool)?.total ?? 0;
  }

  /** Number of ready, untouched runners of the pool. */
  untouched(pool: string): number {
    return this.#free.get(pool)?.get('')?.size ?? 0;
  }

  #count({ pool }: Runner, holder: Holder | undefined, by: 1 | -1): void {
    if (holder === undefined) return;
    getOrMake(this.#held, pool, () => new Tally()).add(holder, by);
  }

  #index(runner: Runner): void {
    const byTenant = getOrMake(this.#free, runner.pool, () => new Map<string, Set<Runner>>());
    getOrMake(byTenant, runner.tenant ?? '', () => new Set()).add(runner);
  }

  #unindex(runner: Runner): void {
    const pool = this.#free.get(runner.pool);
    const key = runner.tenant ?? '';
    const set = pool?.get(key);
    if (!set?.delete(runner)) return;
    if (set.size === 0) pool?.delete(key);
  }

  #change(runner: Runner, change: () => void): void {
    this.#unindex(runner);
    this.#count(runner, holderOf(runner), -1);
    change();
    this.#count(runner, holderOf(runner), 1);
    if (isFree(runner)) this.#index(runner);
  }

  /** Undefined: there is no such runner. */
  #changed(uid: string, change: (runner: Runner) => void): Runner | undefined {
    const runner = this.#all.get(uid);
    if (runner) this.#change(runner, () => change(runner));
    return runner;
  }

  /**
   * From the pod watch, or the answer to a write. Returns the runner's lost task if the pod was deleted, is ending, or
   * began another life.
   */
  pod(facts: WatchedPod, now: number): { lost?: LostTask } {
    const { life, podUid } = facts;
    const known = this.#byPod.get(podUid);
    if (facts.ended) return this.gone(podUid);
    if (!known) {
      this.#add(facts, now);
      return {};
    }
    // The watch is behind the leader's own write.
    if (life < known.life) return {};
    if (life > known.life) {
      const former = this.gone(podUid);
      this.#add(facts, now, known);
      return former;
    }
    known.version = facts.version;
    known.noted = facts.tenant;
    if (facts.node !== undefined) known.scheduledAt ??= now;
    known.node ??= facts.node;
    if (facts.deleting && !known.deleting) {
      // A pod that is being deleted drains: it may finish its job and gets no new one.
      this.#change(known, () => {
        known.deleting = true;
      });
    }
    return {};
  }

  #add(facts: WatchedPod, now: number, former?: FormerLife): void {
    const runner = newRunner(facts, now, former);
    this.#all.set(runner.uid, runner);
    this.#byPod.set(runner.podUid, runner);
    this.#count(runner, holderOf(runner), 1);
  }

  /** `podUid`: of a pod that no longer exists, or whose life is over. */
  gone(podUid: string): { lost?: LostTask } {
    const runner = this.#byPod.get(podUid);
    if (!runner) return {};
    const { uid, task } = runner;
    this.#unindex(runner);
    this.#count(runner, holderOf(runner), -1);
    this.#all.delete(uid);
    this.#byPod.delete(podUid);
    this.#owners.delete(uid);
    return task ? { lost: { job: task.job, attempt: task.attempt, uid } } : {};
  }

  /**
   * Binds a runner to its tenant, whatever its agent reports: under a new leader a compromised agent could otherwise
   * choose whose sources it gets.
   */
  bind(uid: string, tenant: string, account?: number): void {
    this.#owners.set(uid, { tenant, account });
    this.#changed(uid, (runner) => {
      runner.account = account;
      // Before its first heartbeat it may still report itself as used up, and that is accepted.
      if (runner.seenAt !== undefined && !isForOneJob(runner.tenant)) runner.tenant = tenant;
    });
  }

  /**
   * From an agent. `freed`: the runner can take a job now. A heartbeat sent before the leader assigned a job still
   * reports idle; the count of finished jobs distinguishes it from one sent after the job.
   */
  heartbeat(beat: Heartbeat, now: number): { freed: boolean; idleWithTask?: Attempt } {
    const runner = this.#all.get(beat.uid);
    if (!runner) return { freed: false };
    let freed = false;
    let idleWithTask: Attempt | undefined;
    this.#change(runner, () => {
      runner.seenAt = now;
      runner.protocol = beat.protocol;
      runner.readyAt ??= now;
      // Bound for life: a runner that could change its tenant could choose whose sources it gets.
      runner.tenant ??= isForOneJob(beat.tenant) ? beat.tenant : (this.#owners.get(beat.uid)?.tenant ?? beat.tenant);
      runner.account ??= accountIn(runner.tenant);
      // The item before was cancelled while its result was collected.
      const { task: kept } = runner;
      if (kept?.isKept && beat.phase === 'running' && beat.job === kept.job && beat.attempt === kept.attempt)
        kept.doneBefore = Math.max(kept.doneBefore, beat.jobsDone);
      const wasFree = isFree(runner);
      if (now >= runner.shunnedUntil) runner.shunnedUntil = 0;
      const isDone = runner.task !== undefined && beat.jobsDone > runner.task.doneBefore;
      const isOver = isDone && !runner.task?.isKept;
      if (isOver && (beat.phase === 'idle' || beat.phase === 'draining')) {
        runner.task = undefined;
        runner.idleSince = now;
      }
      if (beat.phase === 'idle' || (beat.phase === 'draining' && beat.job === undefined)) {
        const { task } = runner;
        // The end of an item of a chunk, and the order for the next one, may be under way.
        const isBetween = isDone && task?.isKept;
        if (task && !task.reserved && !isBetween) idleWithTask = { job: task.job, attempt: task.attempt };
        if (runner.phase !== beat.phase) runner.idleSince = now;
      } else if (!runner.task && beat.job !== undefined && beat.attempt !== undefined) {
        runner.task = { job: beat.job, attempt: beat.attempt, doneBefore: beat.jobsDone, reserved: false };
      }
      runner.phase = beat.phase;
      runner.jobsDone = beat.jobsDone;
      runner.jobsBefore ??= beat.jobsDone;
      // A wall reported later may be the one that the pool requires.
      const isNews = Object.entries(beat.walls ?? {}).some(([wall, up]) => runner.walls?.[wall as Wall] !== up);
      if (beat.walls) runner.walls = pick(beat.walls);
      runner.cores = beat.cores;
      freed = isFree(runner) && (!wasFree || isNews);
    });
    return idleWithTask ? { freed, idleWithTask } : { freed };
  }

  /**
   * A free runner for a tenant: one already bound to it, otherwise an untouched one, never one bound to another tenant.
   * `covers`: whether a generation mounts the job's tools. `mayTake`: whether the account may hold a further runner;
   * called only for one that does not count for it yet. Asked last: runners for which `isFit` is false are skipped.
   */
  choose(
    pool: string,
    tenant: string,
    covers: (generation: string) => boolean,
    mayTake: () => boolean,
    isFit: (runner: Runner) => boolean = () => true,
  ): Runner | undefined {
    const free = this.#free.get(pool);
    if (!free) return undefined;
    for (const runner of free.get(tenant) ?? [])
      if (covers(runner.generation) && (holderOf(runner) !== undefined || mayTake()) && isFit(runner)) return runner;
    const untouched = free.get('');
    if (!untouched || !mayTake()) return undefined;
    for (const runner of untouched) if (covers(runner.generation) && isFit(runner)) return runner;
    return undefined;
  }

  hasFree(pool: string): boolean {
    return (this.#free.get(pool)?.size ?? 0) > 0;
  }

  reserve(runner: Runner, job: string, attempt: number, tenant: string, account?: number): void {
    this.#change(runner, () => {
      runner.task = { job, attempt, doneBefore: runner.jobsDone, reserved: true };
      runner.tenant = tenant;
      runner.account = account;
    });
  }

  /** The job is admitted: the runner is responsible for it from now on. */
  confirm(runner: Runner, job: string, attempt: number, isKept = false): void {
    this.#change(runner, () => {
      const { doneBefore = runner.jobsDone } = runner.task ?? {};
      runner.task = { job, attempt, doneBefore, reserved: false, ...(isKept ? { isKept } : {}) };
    });
  }

  /** The next item of a chunk: the runner stays responsible. `isDone`: it counts the one before as finished. */
  goOn(runner: Runner, attempt: number, isDone: boolean): void {
    const { task } = runner;
    if (task) runner.task = { ...task, attempt, doneBefore: task.doneBefore + (isDone ? 1 : 0) };
  }

  /** Releases a reservation that was not used, or a job that is over for the leader. */
  release(uid: string, job: string, now: number): void {
    const runner = this.#all.get(uid);
    if (!runner || runner.task?.job !== job) return;
    this.#change(runner, () => {
      runner.task = undefined;
      runner.idleSince = now;
    });
  }

  /**
   * The runner refused a job although it seemed free: it gets none for a while. Returns the number of consecutive
   * refusals.
   */
  refused(uid: string, now: number): number {
    const refusing = this.#changed(uid, (runner) => {
      runner.refusals += 1;
      runner.shunnedUntil = now + shunMs(runner.refusals);
    });
    return refusing?.refusals ?? 0;
  }

  /** None can be heard now: their silence counts from here, and each gets no job until its next heartbeat. */
  unheard(now: number): void {
    for (const runner of this.#all.values())
      this.#change(runner, () => {
        if (runner.seenAt !== undefined) runner.seenAt = now;
        else if (runner.life > 0 && runner.scheduledAt !== undefined) runner.scheduledAt = now;
        runner.shunnedUntil = Math.max(runner.shunnedUntil, now);
      });
  }

  /** The runner accepted a job. */
  accepted(uid: string): void {
    const runner = this.#all.get(uid);
    if (runner) runner.refusals = 0;
  }

  /** Stops the assignment of jobs to this runner. */
  retire(uid: string): void {
    this.#changed(uid, (runner) => {
      runner.deleting = true;
    });
  }

  /** Stops the assignment of jobs to this runner: its pod is to begin another life, for its tenant or for others. */
  renew(uid: string, keepsTenant: boolean): void {
    this.#changed(uid, (runner) => {
      runner.renewing = true;
      runner.keepsTenant = keepsTenant;
    });
  }

  /** Runners whose heartbeats stopped, and pods that never sent one, or never got a node. */
  silent(now: number, silenceMs: number, bootMs: (pool: string) => number, pendingMs: number): Runner[] {
    return [...this.#all.values()].filter(({ pool, life, seenAt, scheduledAt, createdAt }) => {
      if (seenAt !== undefined) return now - seenAt > silenceMs;
      // Nothing has to be pulled or mounted.
      if (life > 0 && scheduledAt !== undefined) return now - scheduledAt > silenceMs;
      return scheduledAt === undefined ? now - createdAt > pendingMs : now - scheduledAt > bootMs(pool);
    });
  }
}

/** What a runner keeps of the life before: its pod is as old and as used, and has the same walls. */
type FormerLife = Pick<Runner, 'account' | 'createdAt' | 'podCreatedAt' | 'jobsDone' | 'walls'>;

/** When its process began; that of a first life with its pod. */
export const lifeBegan = ({ life, scheduledAt, createdAt }: Pick<Runner, 'life' | 'scheduledAt' | 'createdAt'>) =>
  life > 0 ? (scheduledAt ?? createdAt) : createdAt;

/** A runner as it is before its first heartbeat. */
export function newRunner(facts: WatchedPod, now: number, former?: FormerLife): Runner {
  const { ageMs, ended: _, ...pod } = facts;
  return {
    ...pod,
    uid: makeRunnerId(pod),
    noted: pod.tenant,
    phase: 'starting',
    account: pod.tenant === undefined ? undefined : (former?.account ?? accountIn(pod.tenant)),
    task: undefined,
    jobsDone: former?.jobsDone ?? 0,
    jobsBefore: pod.life > 0 ? former?.jobsDone : 0,
    createdAt: former?.createdAt ?? now,
    podCreatedAt: former?.podCreatedAt ?? now - ageMs,
    // A pod that was renewed has had a node.
    scheduledAt: pod.node === undefined && pod.life === 0 ? undefined : now,
    readyAt: undefined,
    idleSince: now,
    protocol: undefined,
    seenAt: undefined,
    renewing: false,
    keepsTenant: false,
    walls: former?.walls,
    cores: undefined,
    refusals: 0,
    shunnedUntil: 0,
  };
}
