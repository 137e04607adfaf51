/**
 * The leader's term: from the ProbeJobs that the watch shows to admissions, orders and ends. One object per term; what a term
 * knows dies with it, because the truth is in ProbeJob status (who runs) and in Postgres (who has an end).
 *
 * No token above its limit: the ledger counts, and an admission is written only while the lease is safely ours, guarded by
 * resourceVersion, with the epoch in it and with a server-side time-out, so that nothing of this term can land in the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PREPARE_TTL_MS, TASK_LEASE_MS, RUNNER_SILENCE_MS, SUBJECT, type Closed, type Early, type Heartbeat, type Lease as TaskLease } from '../bus/messages.ts';
import type { Bus } from '../bus/connect.ts';
import { PROBE_JOBS, outcomeUnknown, isKubeError, type KubeClient } from '../kube/client.ts';
import type { ProbeJob, Reason } from '../kube/resources.ts';
import type { Logger } from '../log.ts';
import type { TokenRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { admittedStatus, isAdmitted, isFinished, waitingStatus } from './conditions.ts';
import { endRequest, recordedEnd, writeFinish, type End } from './end.ts';
import { takeIn, type IntakeDeps } from './intake.ts';
import { MAX_ATTEMPTS, Refusal, idOf, resultPathOf, submittedAtOf, toolsLine, type Job } from './job.ts';
import { Ledger } from './ledger.ts';
import type { ControllerMetrics } from './metrics.ts';
import * as orders from './orders.ts';
import type { Pools } from './pools.ts';
import type { Retention } from './retention.ts';
import type { Runners } from './runners.ts';

/** Server-side bound of an admission write: what has not landed by then never does. */
const WRITE_MS = 1_500;
/** How much of the lease must be left before a write: the write's bound and a little. */
const LEASE_MARGIN_MS = WRITE_MS + 500;
/** A condition is written on a waiting job only after this: a happy job costs no write for waiting. */
const MARK_AFTER_MS = 1_000;
/** Beyond the analysis time: the runner ends the job itself, this is for one that does not. */
const DEADLINE_GRACE_MS = 10_000;
const MARKS_AT_ONCE = 4;

export interface Term { holder: string; epoch: number; stillLeading(marginMs: number): boolean; signal: AbortSignal }

export interface LeaderDeps {
  term: Term;
  kube: KubeClient;
  bus: Bus;
  store: Store;
  log: Logger;
  namespace: string;
  runners: Runners;
  pools: Pools;
  retention: Retention;
  metrics: ControllerMetrics;
  intake: Omit<IntakeDeps, 'tokenOf' | 'poolFor' | 'tools'>;
  maxQueued: number;
  /** The term is over: nothing of it may act any more. */
  onDeposed: () => void;
}

const now = (): number => performance.now();

export class Leader {
  readonly #deps: LeaderDeps;
  readonly #ledger = new Ledger<Job>();
  readonly #jobs = new Map<string, Job>();
  /** Seen and on their way through intake, or refused there: a second event must not take them in twice. */
  readonly #taking = new Set<string>();
  #intakeChain: Promise<void> = Promise.resolve();
  readonly #tokens = new Map<number, { record: TokenRecord | undefined; at: number }>();
  readonly #retrying = new Set<Job>();
  readonly #scheduled = new Set<string>();
  readonly #early = new Map<string, { job: Job; timer: NodeJS.Timeout; at: number }>();
  readonly #marks: Job[] = [];
  #marking = 0;
  #ready = false;

  constructor(deps: LeaderDeps) {
    this.#deps = deps;
  }

  get #live(): boolean {
    return !this.#deps.term.signal.aborted;
  }

  #iso(): string {
    return new Date(Math.floor(this.#deps.store.clock.now())).toISOString();
  }

  // ------------------------------------------------------------ start of a term

  /** Reads everything afresh: the list first, then who already has an end, then what the runners do; only then does it admit. */
  async start(): Promise<void> {
    const { kube, store, bus, log, namespace } = this.#deps;
    const { items } = await kube.listAll(PROBE_JOBS, { namespace });
    const unfinished = items.filter((job) => !isFinished(job.status)).sort((a, b) => submittedAtOf(a).getTime() - submittedAtOf(b).getTime());
    for (const job of items) if (isFinished(job.status)) this.#deps.retention.finished(job);
    await this.#loadTokens([...new Set(unfinished.flatMap((job) => (job.spec.token ? [job.spec.token.id] : [])))]);
    bus.publish(SUBJECT.report, { epoch: this.#deps.term.epoch });
    for (const job of unfinished) this.#take(job);
    await this.#intakeChain;
    const ids = [...this.#jobs.values()].map(({ id }) => id);
    for (let at = 0; at < ids.length; at += 500) {
      for (const ended of await store.endsFor(ids.slice(at, at + 500))) {
        const job = [...this.#jobs.values()].find(({ id }) => id === ended.id);
        if (job) void this.#finish(job, recordedEnd(ended));
      }
    }
    // Runners that are alive answer the call for reports within a moment; the others are found by their silence.
    const expected = [...this.#jobs.values()].flatMap(({ runner }) => (runner ? [runner.uid] : []));
    const until = now() + 1_000;
    while (now() < until && this.#live && expected.some((uid) => this.#deps.runners.get(uid)?.seenAt === undefined)) await delay(20);
    this.#ready = true;
    log.info({ epoch: this.#deps.term.epoch, unfinished: unfinished.length, running: this.#ledger.held }, 'leading');
    this.#scheduleAll();
  }

  stop(): void {
    for (const job of this.#jobs.values()) this.#disarm(job);
    for (const { timer } of this.#early.values()) clearTimeout(timer);
  }

  // ------------------------------------------------------------------- tokens

  async #loadTokens(ids: number[]): Promise<void> {
    const records = await this.#deps.store.tokenLimits(ids);
    for (const id of ids) this.#tokens.set(id, { record: records.get(id), at: now() });
  }

  /** `known`: whether notices of changes arrive; without them a record is good for a second. */
  tokensFresh: () => boolean = () => true;

  async #tokenOf(id: number): Promise<TokenRecord | undefined> {
    const cached = this.#tokens.get(id);
    if (cached && (this.tokensFresh() || now() - cached.at < 1_000)) return cached.record;
    await this.#loadTokens([id]);
    return this.#tokens.get(id)?.record;
  }

  /** A token or user changed, or notices may have been missed: limits are read live, never from a spec. */
  async tokensChanged(which: number[] | 'all'): Promise<void> {
    const ids = which === 'all' ? [...this.#tokens.keys()] : which.filter((id) => this.#tokens.has(id));
    if (ids.length === 0) return;
    await this.#loadTokens(ids);
    for (const id of ids) {
      const record = this.#tokens.get(id)?.record;
      if (record && (this.#ledger.waitingOf(id) > 0 || this.#ledger.heldBy(id) > 0)) this.#ledger.setLimit(id, record.limits.concurrency);
    }
    this.#scheduleAll();
  }

  // ------------------------------------------------------------------- intake

  /** From the watch: a job that was made, or changed. */
  seen(job: ProbeJob): void {
    const known = this.#jobs.get(job.metadata.name);
    if (known) {
      // Our own writes come back here; between them only foreign changes, which move the version on.
      if (known.uid === job.metadata.uid && known.state === 'waiting') {
        known.resourceVersion = job.metadata.resourceVersion ?? known.resourceVersion;
        known.status = job.status;
      }
      return;
    }
    if (isFinished(job.status)) {
      this.#deps.retention.finished(job);
      return;
    }
    this.#take(job);
  }

  #take(job: ProbeJob): void {
    const name = job.metadata.name;
    if (this.#taking.has(name) || this.#jobs.has(name)) return;
    this.#taking.add(name);
    // One after the other: the queue of a token is first in, first out by arrival, not by who was decrypted first.
    this.#intakeChain = this.#intakeChain.then(async () => {
      if (!this.#live || !this.#taking.has(name)) return;
      try {
        await this.#admitToQueue(job);
      } catch (error) {
        this.#deps.log.error({ err: error, job: name }, 'a job could not be taken in; it is tried again');
        this.#taking.delete(name);
        setTimeout(() => this.#live && this.#take(job), 1_000).unref();
        return;
      }
      this.#taking.delete(name);
    });
  }

  async #admitToQueue(object: ProbeJob): Promise<void> {
    const early = this.#early.get(object.metadata.name);
    let job: Job;
    let token: TokenRecord;
    try {
      if (early) {
        clearTimeout(early.timer);
        this.#early.delete(object.metadata.name);
        ({ job } = early);
        job.uid = object.metadata.uid ?? '';
        job.resourceVersion = object.metadata.resourceVersion ?? '';
        job.status = object.status;
        const record = await this.#tokenOf(job.token);
        if (!record) throw new Refusal('InvalidRequest', 403, 'its token was revoked');
        token = record;
      } else {
        ({ job, token } = await takeIn(this.#intakeDeps(), object));
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.#refuse(object, error);
      return;
    }
    if (!this.#taking.has(object.metadata.name)) {
      // Deleted while it was being taken in.
      this.#releaseReservation(job);
      return;
    }
    this.#jobs.set(job.key, job);
    if (isAdmitted(object.status)) {
      job.state = 'running';
      job.runner = object.status?.runner;
      job.goneAt = now();
      this.#ledger.hold(job, token.limits.concurrency);
      this.#armDeadline(job, Date.parse(object.status?.startedAt ?? '') || this.#deps.store.clock.now());
      return;
    }
    if (this.#ledger.waiting >= this.#deps.maxQueued) {
      await this.#end(job, { state: 'error', status: 429, reason: 'QueueFull', error: 'too many requests are waiting in the whole installation: try again later' });
      return;
    }
    this.#ledger.enqueue(job, token.limits.concurrency);
    this.#armQueue(job);
    this.#schedule(job.lane);
  }

  #intakeDeps(): IntakeDeps {
    const { intake, pools } = this.#deps;
    return { ...intake, tokenOf: (id) => this.#tokenOf(id), tools: () => pools.availableTools(), poolFor: (kind) => pools.forKind(kind) };
  }

  async #refuse(object: ProbeJob, refusal: Refusal): Promise<void> {
    const end: End = { state: 'error', status: refusal.status, reason: refusal.reason, error: refusal.message };
    const ended = { id: idOf(object), key: object.metadata.name, namespace: object.metadata.namespace ?? '', submittedAt: submittedAtOf(object), attempt: 0, status: object.status };
    const recorded = await endRequest(this.#deps, ended, end, this.#deps.term.signal);
    await writeFinish(this.#deps, ended, recorded, this.#deps.term.signal);
  }

  // -------------------------------------------------------------------- early

  /** The API is creating a job: a runner may be got ready meanwhile. Never an admission. */
  async early({ job: name, namespace, spec }: Early): Promise<void> {
    if (!this.#ready || !this.#live || this.#jobs.has(name) || this.#taking.has(name) || this.#early.has(name)) return;
    const object: ProbeJob = { apiVersion: '', kind: 'ProbeJob', metadata: { name, namespace }, spec };
    if (!spec.token || !spec.source.sealed) return;
    try {
      const { job, token } = await takeIn(this.#intakeDeps(), object);
      if (this.#jobs.has(name) || this.#taking.has(name) || !this.#ledger.wouldRun(job.token, job.lane, token.limits.concurrency)) return;
      if (!this.#reserve(job)) return;
      // The watch event is some milliseconds away; where it does not come, the runner must not stay reserved.
      const timer = setTimeout(() => {
        this.#early.delete(name);
        this.#releaseReservation(job);
        this.#schedule(job.lane);
      }, PREPARE_TTL_MS + 300);
      this.#early.set(name, { job, timer, at: now() });
      this.#prepare(job);
    } catch (error) {
      if (!(error instanceof Refusal)) this.#deps.log.debug({ err: error, job: name }, 'no early preparation');
    }
  }

  // ---------------------------------------------------------------- admission

  #scheduleAll(): void {
    for (const lane of this.#deps.pools.lanes()) this.#schedule(lane);
  }

  /** Something changed in this lane: at the end of the turn, admit what can be. */
  #schedule(lane: string): void {
    if (this.#scheduled.has(lane)) return;
    this.#scheduled.add(lane);
    queueMicrotask(() => {
      this.#scheduled.delete(lane);
      if (this.#ready && this.#live) this.#run(lane);
    });
  }

  #run(lane: string): void {
    for (const job of this.#retrying) {
      if (job.lane !== lane || !this.#reserve(job)) continue;
      this.#retrying.delete(job);
      void this.#admit(job);
    }
    for (;;) {
      const job = this.#ledger.take(lane, (entry) => this.#reserve(entry));
      if (!job) break;
      void this.#admit(job);
    }
    this.#deps.pools.demandChanged(lane);
  }

  /** True when a runner is set aside for the job. */
  #reserve(job: Job): boolean {
    const { runners, pools } = this.#deps;
    if (job.runner && runners.get(job.runner.uid)?.task?.job === job.key) return true;
    if (!runners.hasFree(job.lane)) return false;
    const runner = pools.choose(job.lane, job.tenant, job.assignment.tools);
    if (!runner) return false;
    runners.reserve(runner, job.key, job.attempt + 1, job.tenant);
    job.runner = { pod: runner.pod, uid: runner.uid };
    job.prepared = false;
    return true;
  }

  #releaseReservation(job: Job): void {
    if (!job.runner) return;
    this.#deps.runners.release(job.runner.uid, job.key, now());
    job.runner = undefined;
    job.prepared = false;
  }

  #order(job: Job) {
    return { epoch: this.#deps.term.epoch, job: job.key, attempt: job.attempt + (job.state === 'running' ? 0 : 1), tenant: job.tenant, assignment: job.assignment };
  }

  #prepare(job: Job): void {
    if (!job.runner || job.prepared) return;
    job.prepared = true;
    // Its answer changes nothing: a runner that refuses says so again at the go.
    void orders.prepare(this.#deps.bus, job.runner.uid, this.#order(job));
  }

  async #admit(job: Job): Promise<void> {
    const { term, store, metrics, log, runners } = this.#deps;
    const again = job.state === 'retrying';
    job.state = 'admitting';
    this.#prepare(job);
    const written = await this.#writeAdmission(job);
    if (!this.#live) return;
    if (written === 'deposed') {
      this.#deps.onDeposed();
      return;
    }
    if (written === 'gone') {
      // Deleted or ended elsewhere: the watch says which; nothing of ours may stay.
      this.#releaseReservation(job);
      if (this.#jobs.get(job.key) === job) await this.#deleted(job);
      return;
    }
    job.attempt += 1;
    job.state = 'running';
    const queueTimeMs = Math.max(0, Math.round(store.clock.now() - job.submittedAt.getTime()));
    if (!again) {
      this.#disarm(job);
      this.#armDeadline(job, store.clock.now());
      metrics.admitted(job.lane, queueTimeMs);
    }
    log.info({ request_id: job.id, job: job.key, pod: job.runner?.pod, attempt: job.attempt, queueTimeMs, epoch: term.epoch }, 'admitted');
    const runner = job.runner && runners.get(job.runner.uid);
    if (!runner || !job.runner) {
      await this.#lost(job, job.attempt, 'its runner is gone');
      return;
    }
    runners.confirm(runner, job.key, job.attempt);
    await this.#go(job);
  }

  /** Until it is known whether the write landed: a slot is given back only when it surely did not. */
  async #writeAdmission(job: Job): Promise<'written' | 'gone' | 'deposed'> {
    const { term, kube, store, log } = this.#deps;
    const { holder, epoch } = term;
    for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
      if (!this.#live || !term.stillLeading(LEASE_MARGIN_MS)) return 'deposed';
      const status = admittedStatus(
        job.status,
        {
          holder, epoch, runner: job.runner ?? { pod: '', uid: '' }, attempt: job.attempt + 1,
          queueTimeMs: Math.max(0, Math.round(store.clock.now() - job.submittedAt.getTime())),
          resultPath: resultPathOf(job),
          tools: job.assignment.tools.map(({ name, version }) => ({ name, version })),
        },
        this.#iso(),
      );
      try {
        const updated = await kube.mergePatchStatus(PROBE_JOBS, job.key, status, {
          namespace: job.namespace, resourceVersion: job.resourceVersion, serverTimeoutMs: WRITE_MS, deadlineMs: WRITE_MS + 500,
        });
        job.status = updated.status;
        job.resourceVersion = updated.metadata.resourceVersion ?? '';
        return 'written';
      } catch (error) {
        if (isKubeError(error, 'not-found')) return 'gone';
        if (!isKubeError(error, 'conflict', 'too-many-requests') && !outcomeUnknown(error)) {
          log.error({ err: error, job: job.key }, 'an admission was refused by the API server');
        }
      }
      await delay(pause * (0.5 + Math.random()));
      try {
        const live = await kube.get(PROBE_JOBS, job.key, { namespace: job.namespace, deadlineMs: 1_000 });
        if (live.metadata.uid !== job.uid || isFinished(live.status)) return 'gone';
        if ((live.status?.admittedBy?.epoch ?? 0) > epoch) return 'deposed';
        job.status = live.status;
        job.resourceVersion = live.metadata.resourceVersion ?? '';
        if (live.status?.admittedBy?.epoch === epoch && live.status.attempts === job.attempt + 1 && live.status.runner?.uid === job.runner?.uid) return 'written';
      } catch (error) {
        if (isKubeError(error, 'not-found')) return 'gone';
      }
    }
  }

  async #go(job: Job): Promise<void> {
    const { bus, store, runners, pools } = this.#deps;
    const { attempt, runner } = job;
    if (!runner) return;
    job.goneAt = now();
    const startedAt = Date.parse(job.status?.startedAt ?? '') || store.clock.now();
    const remainingMs = Math.max(1, Math.round(startedAt + job.timeoutMs - store.clock.now()));
    const said = await orders.go(bus, runner.uid, { ...this.#order(job), remainingMs });
    if (said.ok || !this.#live || job.attempt !== attempt || job.state !== 'running') return;
    if (said.why === 'epoch') {
      this.#deps.onDeposed();
      return;
    }
    if (said.why === 'silent') {
      runners.retire(runner.uid);
      pools.endPod(runner.uid, 'silent');
    }
    await this.#lost(job, attempt, `the runner ${runner.pod} did not take it (${said.why})`);
  }

  /** Jobs that came when no pool served their kind. */
  #rerouteStranded(): void {
    for (const job of Array.from(this.#ledger.waitingEntries())) {
      if (job.lane !== '') continue;
      const pool = this.#deps.pools.forKind(job.kind);
      if (!pool) continue;
      const limit = this.#ledger.limitOf(job.token);
      this.#ledger.remove(job.key);
      job.lane = pool.name;
      this.#ledger.enqueue(job, limit);
    }
  }

  // -------------------------------------------------------------------- losses

  /** The attempt came to nothing, through no fault of the source or the tools: another runner, or after some attempts the end. */
  async #lost(job: Job, attempt: number, why: string): Promise<void> {
    if (!this.#live || job.attempt !== attempt || job.state !== 'running') return;
    job.state = 'retrying';
    this.#deps.log.warn({ request_id: job.id, job: job.key, pod: job.runner?.pod, attempt, why }, 'runner lost');
    this.#releaseReservation(job);
    // Its result may have been recorded a moment before it went.
    const [ended] = await this.#deps.store.endsFor([job.id]).catch(() => []);
    if (this.#jobs.get(job.key) !== job || job.state !== 'retrying') return;
    if (ended) {
      await this.#finish(job, recordedEnd(ended));
      return;
    }
    if (attempt >= MAX_ATTEMPTS) {
      await this.#end(job, { state: 'error', status: 500, reason: 'RunnerLost', error: `the analysis could not be completed: its runner was lost ${attempt} times` });
      return;
    }
    this.#deps.metrics.retried(job.lane);
    this.#retrying.add(job);
    this.#schedule(job.lane);
  }

  /** A pod is gone, with what it ran. */
  podGone(task: { job: string; attempt: number }): void {
    const job = this.#jobs.get(task.job);
    if (job) void this.#lost(job, task.attempt, 'its pod is gone');
  }

  heartbeat(beat: Heartbeat): TaskLease {
    const { runners, term, pools } = this.#deps;
    const { freed, idleWithTask } = runners.heartbeat(beat, now());
    const runner = runners.get(beat.uid);
    if (runner && beat.epoch > term.epoch) {
      this.#deps.onDeposed();
    }
    if (idleWithTask) {
      // It was told to go and says that it has nothing, some heartbeats later: the order or the run was lost on the way.
      const job = this.#jobs.get(idleWithTask.job);
      if (!job) runners.release(beat.uid, idleWithTask.job, now());
      else if (job.state === 'running' && now() - job.goneAt > 3_000) void this.#lost(job, idleWithTask.attempt, 'the runner says that it does not run it');
    }
    if (freed) {
      pools.noticeFree(beat.pool);
      this.#schedule(beat.pool);
    }
    const task = runner?.task;
    const foreign = beat.job !== undefined && beat.attempt !== undefined && this.#ready && !this.#jobs.has(beat.job) && !this.#taking.has(beat.job) && !this.#early.has(beat.job);
    return {
      epoch: term.epoch,
      leaseMs: TASK_LEASE_MS,
      ...(runner === undefined || runner.deleting ? { drain: true } : {}),
      // A job that has no ProbeJob any more, or another attempt: nothing waits for it.
      ...(foreign && (task === undefined || task.job === beat.job) && beat.phase === 'running' ? { cancel: { job: beat.job ?? '', attempt: beat.attempt ?? 0 } } : {}),
    };
  }

  /** Once a second: what no event would tell. */
  async tick(): Promise<void> {
    if (!this.#ready || !this.#live) return;
    const { runners, pools, store, log } = this.#deps;
    for (const runner of runners.silent(now(), RUNNER_SILENCE_MS, pools.bootPatienceMs)) {
      if (runner.deleting) continue;
      log.warn({ pod: runner.pod }, runner.seenAt === undefined ? 'a runner never came up' : 'a runner fell silent');
      runners.retire(runner.uid);
      pools.endPod(runner.uid, runner.seenAt === undefined ? 'never-ready' : 'silent');
      if (runner.task) this.podGone(runner.task);
    }
    const unsure: Job[] = [];
    for (const job of this.#jobs.values()) {
      if (job.state !== 'running') continue;
      const runner = job.runner && runners.get(job.runner.uid);
      // The runner has gone on to other things and no notice came, or its pod was never seen by this leader.
      if (runner?.task?.job !== job.key && now() - job.goneAt > 1_500) unsure.push(job);
    }
    if (unsure.length === 0) return;
    const ends = new Map((await store.endsFor(unsure.map(({ id }) => id))).map((end) => [end.id, end]));
    for (const job of unsure) {
      const end = ends.get(job.id);
      if (end) await this.#finish(job, recordedEnd(end));
      else if (job.state === 'running') {
        const runner = job.runner && runners.get(job.runner.uid);
        // A runner that was just counted free may still be waiting for its result to be collected.
        if (!runner || now() - job.goneAt > RUNNER_SILENCE_MS) await this.#lost(job, job.attempt, runner ? 'no result came' : 'its runner is gone');
      }
    }
  }

  // ---------------------------------------------------------------------- ends

  /** A collector recorded the result. */
  closed(closed: Closed): void {
    const job = this.#jobs.get(closed.job);
    if (job && job.id === closed.id) void this.#finish(job, { reason: closed.reason, summary: closed.summary, tools: closed.tools });
  }

  /** Ends a job that has no result of its own. */
  async #end(job: Job, end: End): Promise<void> {
    if (job.state === 'ending') return;
    const { state, runner, attempt } = job;
    job.state = 'ending';
    this.#disarm(job);
    this.#retrying.delete(job);
    if (this.#ledger.isWaiting(job.key)) this.#ledger.remove(job.key);
    const stopping = state === 'running' && runner ? orders.cancel(this.#deps.bus, runner.uid, { epoch: this.#deps.term.epoch, job: job.key, attempt, why: end.reason === 'DeadlineExceeded' ? 'deadline' : 'cancelled' }) : undefined;
    const recorded = await endRequest(this.#deps, job, end, this.#deps.term.signal);
    await stopping;
    await this.#settle(job, recorded);
  }

  async #finish(job: Job, finish: { reason: Reason; summary: string; tools: Closed['tools'] }): Promise<void> {
    if (job.state === 'ending') return;
    job.state = 'ending';
    this.#disarm(job);
    this.#retrying.delete(job);
    if (this.#ledger.isWaiting(job.key)) this.#ledger.remove(job.key);
    await this.#settle(job, finish);
  }

  /** The slot is free only when the status says so: whoever counts running jobs with kubectl never sees one too many. */
  async #settle(job: Job, finish: { reason: Reason; summary: string; tools: Closed['tools'] }): Promise<void> {
    const done = await writeFinish(this.#deps, job, finish, this.#deps.term.signal);
    if (!this.#live) return;
    this.#ledger.remove(job.key);
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
    this.#deps.metrics.finished(job.lane, finish.reason);
    if (done) this.#deps.retention.finished(done);
    this.#scheduleAll();
  }

  /** From the watch: the ProbeJob is gone. Of an unfinished one that means: cancel. */
  deleted(object: ProbeJob): void {
    const name = object.metadata.name;
    this.#taking.delete(name);
    this.#deps.retention.forget(name);
    const job = this.#jobs.get(name);
    if (job && job.uid === (object.metadata.uid ?? job.uid)) void this.#deleted(job);
    else if (!isFinished(object.status)) {
      const ended = { id: idOf(object), key: name, namespace: object.metadata.namespace ?? '', submittedAt: submittedAtOf(object), attempt: 0, status: object.status };
      void endRequest(this.#deps, ended, CANCELLED, this.#deps.term.signal);
    }
  }

  async #deleted(job: Job): Promise<void> {
    if (job.state === 'ending') return;
    await this.#end(job, CANCELLED);
  }

  // -------------------------------------------------------------------- timers

  #disarm(job: Job): void {
    for (const timer of job.timers) clearTimeout(timer);
    job.timers = [];
  }

  #armQueue(job: Job): void {
    const waited = this.#deps.store.clock.now() - job.submittedAt.getTime();
    const left = Math.max(0, job.queueTimeoutMs - waited);
    const marked = job.status?.conditions !== undefined;
    job.timers.push(
      setTimeout(() => {
        if (!this.#live || job.state !== 'waiting') return;
        const why = this.#whyWaiting(job);
        void this.#end(job, { state: 'error', status: 429, reason: 'QueueTimeout', error: `the request waited ${Math.round(job.queueTimeoutMs / 100) / 10} s in the queue: ${why.message}` });
      }, left),
      ...(marked ? [] : [setTimeout(() => this.#mark(job), Math.max(0, MARK_AFTER_MS - waited))]),
    );
  }

  #armDeadline(job: Job, startedAt: number): void {
    const left = startedAt + job.timeoutMs + DEADLINE_GRACE_MS - this.#deps.store.clock.now();
    job.timers.push(
      setTimeout(() => {
        if (!this.#live || job.state === 'ending') return;
        void this.#end(job, {
          state: 'error', status: 200, reason: 'DeadlineExceeded', error: `the analysis did not end within ${job.timeoutMs} ms`,
          timedOut: job.assignment.tools, timeoutMs: job.timeoutMs,
        });
      }, Math.max(0, left)),
    );
  }

  #whyWaiting(job: Job): { reason: 'Queued' | 'TokenAtLimit' | 'NoRunner'; message: string } {
    const limit = this.#ledger.limitOf(job.token);
    const held = this.#ledger.heldBy(job.token);
    if (held >= limit) return { reason: 'TokenAtLimit', message: `token ${job.token} runs ${held} of its ${limit} at once, ${this.#ledger.waitingOf(job.token)} wait` };
    const waiting = this.#ledger.waitingOf(job.token);
    if (!this.#deps.runners.hasFree(job.lane)) return { reason: 'NoRunner', message: this.#deps.pools.whyNoRunner(job.lane, toolsLine(job.assignment.tools)) };
    return { reason: 'Queued', message: `its turn has not come: ${waiting} of its token wait` };
  }

  /** Bounded in number: ten thousand waiting jobs must not keep the API server from admissions. */
  #mark(job: Job): void {
    this.#marks.push(job);
    while (this.#marking < MARKS_AT_ONCE && this.#marks.length > 0) {
      const next = this.#marks.shift();
      if (!next || next.state !== 'waiting' || !this.#live) continue;
      this.#marking++;
      void this.#writeMark(next).finally(() => {
        this.#marking--;
        const following = this.#marks.shift();
        if (following) this.#mark(following);
      });
    }
  }

  async #writeMark(job: Job): Promise<void> {
    const { reason, message } = this.#whyWaiting(job);
    try {
      const version = job.resourceVersion;
      const updated = await this.#deps.kube.mergePatchStatus(PROBE_JOBS, job.key, waitingStatus(job.status, reason, message, this.#iso()), {
        namespace: job.namespace, resourceVersion: version, serverTimeoutMs: WRITE_MS, deadlineMs: WRITE_MS + 500,
      });
      if (job.resourceVersion === version) {
        job.resourceVersion = updated.metadata.resourceVersion ?? version;
        job.status = updated.status;
      }
    } catch {
      // It explains, no more: an admission that overtook it, or a busy API server, is no fault.
    }
  }

  // ---------------------------------------------------------------------- views

  /** Waiting jobs by tenant in a lane that only lack a runner; and how long the longest of a tenant without a pod has waited. */
  demand(lane: string): { byTenant: Map<string, number>; longestWaitMs: number } {
    const byTenant = new Map<string, number>();
    const room = new Map<number, number>();
    let longestWaitMs = 0;
    const clock = this.#deps.store.clock.now();
    const count = (job: Job) => {
      byTenant.set(job.tenant, (byTenant.get(job.tenant) ?? 0) + 1);
      longestWaitMs = Math.max(longestWaitMs, clock - job.submittedAt.getTime());
    };
    for (const job of this.#retrying) if (job.lane === lane) count(job);
    for (const job of this.#ledger.waitingEntries()) {
      if (job.lane !== lane) continue;
      const left = room.get(job.token) ?? Math.max(0, this.#ledger.limitOf(job.token) - this.#ledger.heldBy(job.token));
      room.set(job.token, left - 1);
      if (left > 0) count(job);
    }
    return { byTenant, longestWaitMs };
  }

  /** By request id; only jobs made by hand have another name than id, and those are found in the cache. */
  knows(id: string): boolean {
    return this.#jobs.has(id) || this.#taking.has(id);
  }

  /** Tools or pools came or went. */
  poolsChanged(): void {
    this.#rerouteStranded();
    this.#scheduleAll();
  }

  get figures(): { waiting: number; running: number; jobs: number } {
    return { waiting: this.#ledger.waiting, running: this.#ledger.held, jobs: this.#jobs.size };
  }
}

const CANCELLED: End = { state: 'error', status: 500, reason: 'Cancelled', error: 'the request was cancelled' };
