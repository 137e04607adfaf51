/**
 * The leader's term: from the ProbeJobs that the watch shows to admissions, orders and ends. One object per term; what
 * a term knows dies with it, because the truth is in ProbeJob status (who runs) and in Postgres (who has an end).
 *
 * No token and no account above its limit: the ledger counts, and an admission is written only while the lease is
 * safely ours, guarded by resourceVersion, with the epoch in it and with a server-side time-out, so that nothing of
 * this term can land in the next.
 */
import {
  PREPARE_TTL_MS,
  TASK_LEASE_MS,
  RUNNER_SILENCE_MS,
  SUBJECT,
  type Cancel,
  type Closed,
  type Early,
  type Heartbeat,
  type Lease as TaskLease,
} from '../../bus/messages.ts';
import type { Bus } from '../../bus/connect.ts';
import { PROBE_JOBS, type KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { ProbeJob, Reason } from '../../kube/resources.ts';
import { type Logger, requestFields, runnerFields } from '../../log.ts';
import type { TokenRecord } from '../../store/records.ts';
import { pause, retry } from '../../retry.ts';
import type { Store } from '../../store/store.ts';
import { writeAdmission } from './admission_write.ts';
import { isAdmitted, isBeingDeleted, isFinished } from './job_status.ts';
import { endRequest, recordedEnd, writeFinish, type End, type Endable, type Finish } from './end_write.ts';
import { activeToken, refusalOf, takeIn, type IntakeDeps } from './resolve_job.ts';
import { MAX_ATTEMPTS, Refusal, idOf, isHandMade, submittedAtOf, type Job } from './job.ts';
import { Ledger, type SlotLimits } from './ledger.ts';
import type { ControllerMetrics } from '../metrics.ts';
import * as orders from './orders.ts';
import { Owners } from './runner_owners.ts';
import type { Waiting } from '../pools/plan.ts';
import type { Pools } from '../pools/pools.ts';
import type { Retention } from './retention.ts';
import type { LostTask, Runners } from '../pools/runners.ts';
import { disarm, later, leaseSafe, type Term } from './lease_guard.ts';
import { TokenRecords } from './token_records.ts';
import { listUnfinished } from './unfinished.ts';
import { WaitingMarks, type WaitingReason } from './waiting_marks.ts';

/** A condition is written on a waiting job only after this: a happy job costs no write for waiting. */
const MARK_AFTER_MS = 1_000;
/** Beyond the analysis time: the runner ends the job itself, this is for one that does not. */
const DEADLINE_GRACE_MS = 10_000;
/** A runner that does not take a job has not lost it: these attempts do not count, within reason. */
const MOST_REFUSED_GO = 20;
const MOST_REFUSALS_IN_A_ROW = 3;
const STRANGER_MS = 30_000;
/** Queued jobs that a change of their token ends side by side. */
const ENDED_AT_ONCE = 20;
/**
 * Ends that whoever looks at the job will ask about; a happy one makes no Event, nor does one that its caller gave up.
 */
const EXPLAINED: ReadonlySet<Reason> = new Set(['RunnerLost', 'QueueTimeout', 'DeadlineExceeded', 'InternalError']);
/** Longer than a lease: by then a leader that was deposed knows. */
const EPOCH_PATIENCE_MS = 7_000;

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
  events: EventRecorder;
  intake: Omit<IntakeDeps, 'tokenOf' | 'poolFor' | 'tools'>;
  maxQueued: number;
  /** Whether notices of changed tokens arrive. */
  tokensFresh: () => boolean;
}

const now = (): number => performance.now();
const slotsOf = ({ limits }: TokenRecord): SlotLimits => ({
  token: limits.concurrency,
  account: limits.accountConcurrency ?? Number.POSITIVE_INFINITY,
});

export class Leader {
  readonly #deps: LeaderDeps;
  readonly #ledger = new Ledger<Job>();
  readonly #jobs = new Map<string, Job>();
  /** Seen and on their way through intake, or refused there: a second event must not take them in twice. */
  readonly #taking = new Set<string>();
  #intakeChain: Promise<void> = Promise.resolve();
  readonly #tokens: TokenRecords;
  readonly #retrying = new Set<Job>();
  readonly #scheduled = new Set<string>();
  /** Who waits, as long as nobody of them has got a runner: asked for each job that is passed over. */
  #contenders: { lane: string; least: { account: number; held: number }[] } | undefined;
  readonly #early = new Map<string, { job: Job; timer: NodeJS.Timeout; at: number }>();
  readonly #marks: WaitingMarks;
  /** Objects that were made under the name of one whose end is still being written. */
  readonly #successors = new Map<string, ProbeJob>();
  /** The default token, where a job of an older leader that was made by hand runs on it. */
  #byHand: TokenRecord | null = null;
  #listed = false;
  #ready = false;

  constructor(deps: LeaderDeps) {
    this.#deps = deps;
    this.#tokens = new TokenRecords(deps.store, deps.tokensFresh);
    this.#marks = new WaitingMarks({
      kube: deps.kube,
      store: deps.store,
      signal: deps.term.signal,
      why: (job) => this.#whyWaiting(job),
      waited: (reason) => deps.metrics.waited(reason),
    });
  }

  get #live(): boolean {
    return !this.#deps.term.signal.aborted;
  }

  // ------------------------------------------------------------ start of a term

  /**
   * Reads everything afresh: the list first, then who already has an end, then what the runners do; only then does it
   * admit.
   */
  async start(): Promise<void> {
    const { kube, namespace, retention, store, bus, log, runners } = this.#deps;
    const owners = new Owners(runners);
    const unfinished = await listUnfinished(kube, namespace, (job) => {
      retention.finished(job);
      owners.note(job);
    });
    for (const job of unfinished) owners.note(job);
    await this.#tokens.load([...new Set(unfinished.flatMap((job) => (job.spec.token ? [job.spec.token.id] : [])))]);
    await this.#bindRunners(owners);
    bus.publish(SUBJECT.report, { epoch: this.#deps.term.epoch });
    await this.#learnSlots(unfinished);
    this.#listed = true;
    for (const job of unfinished) this.#take(job);
    await this.#intakeChain;
    const byId = new Map([...this.#jobs.values()].map((job) => [job.id, job]));
    const ids = [...byId.keys()];
    for (let at = 0; at < ids.length; at += 500) {
      for (const ended of await store.endsFor(ids.slice(at, at + 500))) {
        const job = byId.get(ended.id);
        if (job) void this.#finish(job, recordedEnd(ended));
      }
    }
    // Runners that are alive answer the call for reports within a moment; the others are found by their silence.
    const expected = [...this.#jobs.values()].flatMap(({ runner }) => (runner ? [runner.uid] : []));
    const until = now() + 1_000;
    while (now() < until && this.#live && expected.some((uid) => runners.get(uid)?.seenAt === undefined))
      await pause(20);
    this.#ready = true;
    log.info({ epoch: this.#deps.term.epoch, unfinished: unfinished.length, running: this.#ledger.held }, 'leading');
    this.#scheduleAll();
  }

  /**
   * Jobs that a leader of an older version admitted do not say whose slots they hold: that is asked for, as long as it
   * takes. Without it a job that runs would not count, and another would be admitted in its place.
   */
  async #learnSlots(unfinished: readonly ProbeJob[]): Promise<void> {
    const { store, log } = this.#deps;
    const unknown = unfinished.filter((job) => isAdmitted(job.status) && job.status?.admittedBy?.account === undefined);
    if (unknown.length === 0) return;
    const load = async (): Promise<void> => {
      await this.#tokens.load(
        [...new Set(unknown.flatMap(({ spec }) => spec.token?.id ?? []))].filter((id) => !this.#tokens.known(id)),
      );
      if (unknown.some(isHandMade)) this.#byHand = await store.defaultToken();
    };
    await retry(load, {
      first: 100,
      longest: 2_000,
      signal: this.#deps.term.signal,
      onRetry: (error) =>
        log.warn({ err: error, jobs: unknown.length }, 'cannot load the tokens of running jobs, will retry'),
    }).catch(() => {});
  }

  /**
   * From its status, before anything is asked: whatever is away, a job that runs counts for its token and its account.
   */
  #holdSlot(job: ProbeJob): void {
    if (!isAdmitted(job.status)) return;
    const { admittedBy } = job.status ?? {};
    const token = job.spec.token?.id ?? admittedBy?.token ?? this.#byHand?.id ?? 0;
    const account =
      admittedBy?.account ?? (this.#byHand?.id === token ? this.#byHand : this.#tokens.known(token))?.rootUserId;
    // Of an older leader, and its token is gone: none of that token is admitted any more.
    if (account !== undefined) this.#ledger.hold({ key: job.metadata.name, token, account, lane: '' });
  }

  async #bindRunners(owners: Owners): Promise<void> {
    const { store, pools, log } = this.#deps;
    let byHand: TokenRecord | null = null;
    try {
      await this.#tokens.load([...new Set(owners.tokens())].filter((id) => !this.#tokens.known(id)));
      if (owners.hasByHand()) byHand = await store.defaultToken();
    } catch (error) {
      log.warn({ err: error }, 'whose the runners are could not be read: those of an unknown token are replaced');
    }
    owners.bind(
      (token) => this.#tokens.known(token),
      byHand,
      (pool) => pools.scopeOf(pool),
    );
  }

  stop(): void {
    for (const job of this.#jobs.values()) disarm(job);
    for (const { timer } of this.#early.values()) clearTimeout(timer);
  }

  // ------------------------------------------------------------------- tokens

  #isIdle(token: number): boolean {
    return this.#ledger.waitingOf(token) === 0 && this.#ledger.heldBy(token) === 0;
  }

  /** A token or user changed, or notices may have been missed: limits are read live, never from a spec. */
  async tokensChanged(which: number[] | 'all'): Promise<void> {
    const known = this.#tokens.among(which);
    // Of those without a job it is enough to forget them: they are read again with their next one.
    const ids = known.filter((id) => !this.#isIdle(id));
    for (const id of known) if (this.#isIdle(id)) this.#tokens.forget(id);
    if (ids.length === 0) return;
    await this.#tokens.load(ids);
    for (const id of ids) {
      const record = this.#tokens.known(id);
      if (record && !this.#isIdle(id)) this.#ledger.setLimits(id, slotsOf(record));
    }
    this.#endWaiting(ids);
    this.#scheduleAll();
  }

  /** Ends the queued jobs of those tokens that were revoked, have expired or belong to a suspended account. */
  #endWaiting(tokens: readonly number[]): void {
    const clock = this.#deps.store.clock.now();
    const refusals = new Map(
      tokens.flatMap((id) => {
        const refusal = refusalOf(this.#tokens.known(id), clock);
        return refusal ? [[id, refusal] as const] : [];
      }),
    );
    if (refusals.size === 0) return;
    const jobs = Array.from(this.#ledger.waitingEntries())
      .filter(({ token }) => refusals.has(token))
      .values();
    const endNext = async (): Promise<void> => {
      for (const job of jobs) {
        const refusal = refusals.get(job.token);
        if (this.#live && refusal && this.#stateOf(job) === 'waiting') await this.#end(job, endOf(refusal));
      }
    };
    for (let at = 0; at < ENDED_AT_ONCE; at++) void endNext();
  }

  // ------------------------------------------------------------------- intake

  /** From the watch: a job that was made, or changed. */
  seen(job: ProbeJob): void {
    // Until the term has its list; what came before that is in it, in its order.
    if (!this.#listed) return;
    // Whoever wrote that, and whether its answer came back.
    if (isFinished(job.status)) this.#deps.retention.finished(job);
    const known = this.#jobs.get(job.metadata.name);
    if (known) {
      // The one that we hold was deleted, and its end is not written yet: this one's turn comes then.
      if (known.uid !== job.metadata.uid) this.#successors.set(job.metadata.name, job);
      else if (isBeingDeleted(job)) void this.#end(known, CANCELLED);
      // Our own writes come back here; between them only foreign changes, which move the version on.
      else if (known.state === 'waiting') {
        known.resourceVersion = job.metadata.resourceVersion ?? known.resourceVersion;
        known.status = job.status;
        // The leader before us had ended it, and its write landed only now: the record has its end already, else it
        // gets one.
        if (isFinished(job.status)) void this.#deleted(known);
      }
      return;
    }
    if (!isFinished(job.status)) this.#take(job);
  }

  #take(job: ProbeJob): void {
    const name = job.metadata.name;
    if (this.#taking.has(name) || this.#jobs.has(name)) return;
    this.#taking.add(name);
    this.#holdSlot(job);
    // One after the other: the queue of a token is first in, first out by arrival, not by who was decrypted first.
    this.#intakeChain = this.#intakeChain.then(async () => {
      if (!this.#live || !this.#taking.has(name)) return;
      try {
        await this.#admitToQueue(job);
      } catch (error) {
        if (!this.#live) return;
        this.#deps.log.error(
          { err: error, ...requestFields({ id: idOf(job), job: name }) },
          'a job could not be taken in; it is tried again',
        );
        // It stays among those that are taken in: a runner that runs it must not be told to cancel.
        setTimeout(() => {
          if (this.#live && this.#taking.delete(name)) this.#take(job);
        }, 1_000).unref();
        return;
      }
      this.#taking.delete(name);
    });
  }

  async #admitToQueue(object: ProbeJob): Promise<void> {
    const name = object.metadata.name;
    const early = this.#early.get(name);
    clearTimeout(early?.timer);
    this.#early.delete(name);
    let taken: { job: Job; token: TokenRecord };
    try {
      taken = early ? await this.#takeEarly(early.job, object) : await takeIn(this.#intakeDeps(), object);
      // A notice during the awaits was for tokens with jobs, and this one may have had none: read again, in the same
      // turn as it is queued.
      if (!isAdmitted(object.status))
        taken.token = activeToken(await this.#tokens.of(taken.job.token), this.#deps.store.clock.now());
    } catch (error) {
      if (early) this.#letGo(early.job, 'cancelled');
      if (!(error instanceof Refusal)) throw error;
      // Not in the way of those behind it: this waits for Postgres and for the API server.
      void this.#refuse(object, error);
      return;
    }
    const { job, token } = taken;
    // Deleted while it was being taken in.
    if (!this.#taking.has(name)) {
      this.#letGo(job, 'cancelled');
      return;
    }
    this.#jobs.set(job.key, job);
    if (isAdmitted(object.status)) {
      job.state = 'running';
      job.runner = object.status?.runner;
      job.goneAt = now();
      this.#ledger.hold(job, slotsOf(token));
      this.#armDeadline(job, Date.parse(object.status?.startedAt ?? '') || this.#deps.store.clock.now());
      if (isBeingDeleted(object)) void this.#end(job, CANCELLED);
      return;
    }
    if (isBeingDeleted(object)) {
      void this.#end(job, CANCELLED);
      return;
    }
    if (this.#ledger.waiting >= this.#deps.maxQueued) {
      void this.#end(job, {
        state: 'error',
        status: 429,
        reason: 'QueueFull',
        error: 'too many requests are waiting in the whole installation: try again later',
      });
      return;
    }
    this.#ledger.enqueue(job, slotsOf(token));
    this.#armQueue(job);
    this.#schedule(job.lane);
    // It was prepared because it would run at once; if it does not, the runner is another's.
    if (early)
      queueMicrotask(() => {
        if (job.state === 'waiting') this.#letGo(job, 'cancelled');
      });
  }

  async #takeEarly(job: Job, object: ProbeJob): Promise<{ job: Job; token: TokenRecord }> {
    job.uid = object.metadata.uid ?? '';
    job.resourceVersion = object.metadata.resourceVersion ?? '';
    job.status = object.status;
    return { job, token: activeToken(await this.#tokens.of(job.token), this.#deps.store.clock.now()) };
  }

  #intakeDeps(): IntakeDeps {
    const { intake, pools } = this.#deps;
    return {
      ...intake,
      tokenOf: (id) => this.#tokens.of(id),
      tools: () => pools.availableTools(),
      poolFor: (kind) => pools.forKind(kind),
    };
  }

  async #refuse(object: ProbeJob, refusal: Refusal): Promise<void> {
    const ended = endableOf(object);
    const recorded = await endRequest(this.#deps, ended, endOf(refusal), this.#deps.term.signal);
    await writeFinish(this.#deps, ended, recorded, this.#deps.term.signal);
    if (!this.#live || this.#jobs.has(ended.key)) return;
    this.#ledger.remove(ended.key);
    this.#scheduleAll();
  }

  // -------------------------------------------------------------------- early

  /** The API is creating a job: a runner may be got ready meanwhile. Never an admission. */
  async early({ job: name, namespace, spec }: Early): Promise<void> {
    if (!this.#ready || !this.#live || this.#jobs.has(name) || this.#taking.has(name) || this.#early.has(name)) return;
    const object: ProbeJob = { apiVersion: '', kind: 'ProbeJob', metadata: { name, namespace }, spec };
    if (!spec.token || !spec.source.sealed) return;
    try {
      const { job, token } = await takeIn(this.#intakeDeps(), object);
      if (this.#jobs.has(name) || this.#taking.has(name) || !this.#ledger.wouldRun(job, slotsOf(token))) return;
      this.#contenders = undefined;
      if (!this.#reserve(job)) return;
      // The watch event is some milliseconds away; where it does not come, the runner must not stay reserved.
      const timer = setTimeout(() => {
        this.#early.delete(name);
        this.#letGo(job, 'cancelled');
      }, PREPARE_TTL_MS + 300);
      this.#early.set(name, { job, timer, at: now() });
      this.#prepare(job);
    } catch (error) {
      if (!(error instanceof Refusal))
        this.#deps.log.debug({ err: error, ...requestFields({ id: idOf(object), job: name }) }, 'no early preparation');
    }
  }

  // ---------------------------------------------------------------- admission

  /** `freed`: the account that a slot came back to. */
  #scheduleAll(freed?: number): void {
    const lanes = this.#deps.pools.lanes();
    for (const lane of freed === undefined ? lanes : this.#ledger.lanesByTurn(freed, lanes)) this.#schedule(lane);
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
    this.#contenders = undefined;
    for (const job of this.#retrying) {
      if (job.lane !== lane || !this.#reserve(job)) continue;
      this.#retrying.delete(job);
      this.#contenders = undefined;
      void this.#admit(job);
    }
    for (;;) {
      const job = this.#ledger.take(lane, (entry) => this.#reserve(entry));
      if (!job) break;
      this.#contenders = undefined;
      const refusal = refusalOf(this.#tokens.known(job.token), this.#deps.store.clock.now());
      if (refusal) void this.#end(job, endOf(refusal));
      else void this.#admit(job);
    }
    this.#deps.pools.demandChanged(lane);
  }

  /** True when a runner is set aside for the job. */
  #reserve(job: Job): boolean {
    const { runners, pools } = this.#deps;
    if (job.runner && runners.get(job.runner.uid)?.task?.job === job.key) return true;
    if (!runners.hasFree(job.lane)) return false;
    const runner = pools.choose(job, () => this.#fewestOfOthers(job));
    if (!runner) return false;
    runners.reserve(runner, job.key, job.attempt + 1, job.tenant, job.account);
    job.runner = { pod: runner.pod, uid: runner.uid };
    job.prepared = false;
    return true;
  }

  /**
   * The fewest runners that an account which waits beside this job's holds; undefined: no other account waits in its
   * lane.
   */
  #fewestOfOthers({ lane, account }: Job): number | undefined {
    if (this.#contenders?.lane !== lane) this.#contenders = { lane, least: this.#leastHolding(lane) };
    return this.#contenders.least.find((one) => one.account !== account)?.held;
  }

  /**
   * The two accounts that wait in a lane and hold the fewest runners: whichever asks, the fewest of the others are
   * among them.
   */
  #leastHolding(lane: string): { account: number; held: number }[] {
    const { runners } = this.#deps;
    const held = new Map<number, number>();
    for (const { lane: of, account } of this.#retrying) if (of === lane) held.set(account, runners.held(lane, account));
    for (const { account } of this.#ledger.heads(lane)) held.set(account, runners.held(lane, account));
    return [...held]
      .map(([account, count]) => ({ account, held: count }))
      .sort((a, b) => a.held - b.held)
      .slice(0, 2);
  }

  /**
   * Gives back what the job has of a runner, and tells the runner, so that neither side waits for the other's patience
   * to end.
   */
  #letGo(job: Job, why: Cancel['why'], attempt = job.attempt + (job.state === 'running' ? 0 : 1)): void {
    const { runner, prepared } = job;
    if (!runner) return;
    const { bus, runners, term } = this.#deps;
    if (prepared || attempt === job.attempt)
      void orders.cancel(bus, runner.uid, { epoch: term.epoch, job: job.key, attempt, why });
    runners.release(runner.uid, job.key, now());
    job.runner = undefined;
    job.prepared = false;
    this.#schedule(job.lane);
  }

  #order(job: Job) {
    return {
      epoch: this.#deps.term.epoch,
      job: job.key,
      requestId: job.id,
      attempt: job.attempt + (job.state === 'running' ? 0 : 1),
      tenant: job.tenant,
      assignment: job.assignment,
    };
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
    const written = await writeAdmission(this.#deps, job, () => this.#live && this.#stateOf(job) === 'admitting');
    // Ended while the write was on its way: nobody may begin it any more, and its end has let the runner go.
    if (!this.#live || this.#stateOf(job) !== 'admitting') return;
    if (written === 'gone') {
      // Deleted or ended elsewhere: the watch says which; nothing of ours may stay.
      await this.#deleted(job);
      return;
    }
    if (written === 'refused') {
      await this.#end(job, {
        state: 'error',
        status: 500,
        reason: 'InternalError',
        error: 'the job could not be admitted: the API server refuses its status',
      });
      return;
    }
    job.attempt += 1;
    job.state = 'running';
    // As it stands in the status and will stand in the record, and not by a clock read after the write.
    const queueTimeMs = job.status?.queueTimeMs ?? 0;
    if (!again) {
      disarm(job);
      this.#armDeadline(job, store.clock.now());
      metrics.admitted(job.lane, queueTimeMs);
    }
    const named = { ...requestFields({ id: job.id, job: job.key }), ...runnerFields(job.runner) };
    log.info({ ...named, attempt: job.attempt, queueTimeMs, epoch: term.epoch }, 'admitted');
    const runner = job.runner && runners.get(job.runner.uid);
    if (!runner || !job.runner) {
      await this.#lost(job, job.attempt, 'its runner is gone');
      return;
    }
    runners.confirm(runner, job.key, job.attempt);
    await this.#go(job);
  }

  async #go(job: Job): Promise<void> {
    const { bus, store, runners, pools } = this.#deps;
    const { attempt, runner } = job;
    if (!runner) return;
    job.goneAt = now();
    const startedAt = Date.parse(job.status?.startedAt ?? '') || store.clock.now();
    const remainingMs = Math.max(1, Math.round(startedAt + job.timeoutMs - store.clock.now()));
    const said = await orders.go(bus, runner.uid, { ...this.#order(job), remainingMs });
    if (said.ok) runners.trust(runner.uid);
    if (said.ok || !this.#live || job.attempt !== attempt || job.state !== 'running') return;
    if (said.why === 'silent') pools.endPod(runner.uid, 'silent');
    // It heeds a later term. If there is one, ours ends by its lease within moments; if not, this runner will never
    // obey anybody again.
    else if (said.why === 'epoch') this.#replaceIfLeading(runner.uid);
    else if (said.why === 'tools' || said.why === 'protocol') pools.endPod(runner.uid, 'unfit');
    if (runners.doubt(runner.uid, now()) >= MOST_REFUSALS_IN_A_ROW) pools.endPod(runner.uid, 'refuses');
    if (said.why !== 'silent') job.refusals += 1;
    await this.#lost(job, attempt, `the runner ${runner.pod} did not take it (${said.why})`);
  }

  #replaceIfLeading(uid: string): void {
    const { runners, pools, term } = this.#deps;
    runners.doubt(uid, now());
    setTimeout(() => {
      if (this.#live && term.stillLeading(0)) pools.endPod(uid, 'epoch');
    }, EPOCH_PATIENCE_MS).unref();
  }

  /** The state may have moved on during an await; the compiler would believe the last assignment. */
  #stateOf(job: Job): Job['state'] {
    return job.state;
  }

  /** Jobs that came when no pool served their kind, or whose pool is gone. */
  #rerouteStranded(): void {
    const lanes = new Set(this.#deps.pools.lanes());
    for (const job of this.#retrying)
      if (!lanes.has(job.lane)) job.lane = this.#deps.pools.forKind(job.kind)?.name ?? '';
    for (const job of Array.from(this.#ledger.waitingEntries())) {
      if (lanes.has(job.lane)) continue;
      const lane = this.#deps.pools.forKind(job.kind)?.name ?? '';
      if (lane === job.lane) continue;
      const limits = { token: this.#ledger.limitOf(job.token), account: this.#ledger.limitOfAccount(job.account) };
      this.#ledger.remove(job.key);
      job.lane = lane;
      this.#ledger.enqueue(job, limits);
    }
  }

  // -------------------------------------------------------------------- losses

  /**
   * The attempt came to nothing, through no fault of the source or the tools: another runner, or after some attempts
   * the end.
   */
  async #lost(job: Job, attempt: number, why: string): Promise<void> {
    if (!this.#live || job.attempt !== attempt || job.state !== 'running') return;
    job.state = 'retrying';
    const named = { ...requestFields({ id: job.id, job: job.key }), ...runnerFields(job.runner) };
    this.#deps.log.warn({ ...named, attempt, why }, 'runner lost');
    this.#letGo(job, 'superseded', attempt);
    // Its result may have been recorded a moment before it went.
    const [ended] = await this.#deps.store.endsFor([job.id]).catch(() => []);
    if (this.#jobs.get(job.key) !== job || job.state !== 'retrying') return;
    if (ended) {
      await this.#finish(job, recordedEnd(ended));
      return;
    }
    if (attempt - Math.min(job.refusals, MOST_REFUSED_GO) >= MAX_ATTEMPTS) {
      await this.#end(job, {
        state: 'error',
        status: 500,
        reason: 'RunnerLost',
        error: `the analysis could not be completed: its runner was lost ${attempt - job.refusals} times`,
      });
      return;
    }
    this.#deps.metrics.retried(job.lane);
    this.#explain(job, 'Retrying', `attempt ${attempt} came to nothing: ${why}`);
    this.#retrying.add(job);
    if (!this.#deps.pools.lanes().includes(job.lane)) this.#rerouteStranded();
    this.#schedule(job.lane);
  }

  /** A pod is gone, with what it ran. */
  podGone(task: LostTask): void {
    const job = this.#jobs.get(task.job);
    // A pod may have claimed another's job.
    if (job?.runner?.uid === task.uid) void this.#lost(job, task.attempt, 'its pod is gone');
  }

  heartbeat(beat: Heartbeat): TaskLease {
    const { runners, term, pools } = this.#deps;
    const { freed, idleWithTask } = runners.heartbeat(beat, now());
    const runner = runners.get(beat.uid);
    if (runner && !runner.deleting && beat.epoch > term.epoch) this.#replaceIfLeading(beat.uid);
    let released = false;
    if (idleWithTask) {
      // It was told to go and says that it has nothing, some heartbeats later: the order or the run was lost on the
      // way.
      const job = this.#jobs.get(idleWithTask.job);
      if (!job || job.state === 'ending' || job.attempt !== idleWithTask.attempt || job.runner?.uid !== beat.uid) {
        runners.release(beat.uid, idleWithTask.job, now());
        released = true;
      } else if (job.state === 'running' && now() - job.goneAt > 3_000)
        void this.#lost(job, idleWithTask.attempt, 'the runner says that it does not run it');
    }
    if (freed || released) {
      const pool = runner?.pool ?? beat.pool;
      pools.noticeFree(pool, runner);
      this.#schedule(pool);
    } else if (runner?.phase === 'draining') pools.demandChanged(runner.pool);
    const job = beat.job === undefined ? undefined : this.#jobs.get(beat.job);
    const unknown =
      beat.job !== undefined && job === undefined && !this.#taking.has(beat.job) && !this.#early.has(beat.job);
    const former = job !== undefined && (job.attempt !== beat.attempt || job.runner?.uid !== beat.uid);
    return {
      epoch: term.epoch,
      leaseMs: TASK_LEASE_MS,
      // One that the pod watch has not shown may be new, and the watch late; one that it never shows is nobody's.
      ...((runner === undefined && beat.ageMs > STRANGER_MS) || runner?.deleting ? { drain: true } : {}),
      // A job that has no ProbeJob any more, or another attempt: nothing waits for it.
      ...(this.#ready && beat.phase === 'running' && (unknown || former)
        ? { cancel: { job: beat.job ?? '', attempt: beat.attempt ?? 0 } }
        : {}),
    };
  }

  /** Once a second: what no event would tell. */
  async tick(): Promise<void> {
    // After a pause of the whole process every runner seems to have been silent: without the lease that is for another
    // to judge.
    if (!this.#ready || !this.#live || !this.#deps.term.stillLeading(0)) return;
    const { runners, pools, store, log } = this.#deps;
    for (const runner of runners.silent(now(), RUNNER_SILENCE_MS, pools.bootPatienceMs)) {
      if (runner.task) this.podGone({ ...runner.task, uid: runner.uid });
      // A pod on a dead node stays in deletion for minutes; what it ran must not wait for that.
      if (runner.deleting) continue;
      log.warn(runnerFields(runner), runner.seenAt === undefined ? 'a runner never came up' : 'a runner fell silent');
      pools.endPod(runner.uid, runner.seenAt === undefined ? 'never-ready' : 'silent');
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
        if (!runner || now() - job.goneAt > RUNNER_SILENCE_MS)
          await this.#lost(job, job.attempt, runner ? 'no result came' : 'its runner is gone');
      }
    }
  }

  // ---------------------------------------------------------------------- ends

  /** A collector recorded the result. */
  closed(closed: Closed): void {
    const job = this.#jobs.get(closed.job);
    if (job && job.id === closed.id)
      void this.#finish(job, { reason: closed.reason, summary: closed.summary, tools: closed.tools }, closed.attempt);
  }

  /** Ends a job that has no result of its own. */
  async #end(job: Job, end: End): Promise<void> {
    if (job.state === 'ending') return;
    const { state, runner, attempt } = job;
    this.#toEnding(job);
    if (EXPLAINED.has(end.reason)) this.#explain(job, end.reason, end.error);
    const stopping =
      state === 'running' && runner
        ? orders.cancel(this.#deps.bus, runner.uid, {
            epoch: this.#deps.term.epoch,
            job: job.key,
            attempt,
            why: end.reason === 'DeadlineExceeded' ? 'deadline' : 'cancelled',
          })
        : undefined;
    const recorded = await endRequest(this.#deps, job, end, this.#deps.term.signal);
    await stopping;
    await this.#settle(job, recorded);
  }

  async #finish(job: Job, finish: Finish, attempt?: number): Promise<void> {
    if (job.state === 'ending') return;
    // An earlier attempt's result was recorded after all: the one that runs now works for nothing, and past the limit
    // once the slot is free.
    if (job.state === 'running' && attempt !== undefined && attempt !== job.attempt) this.#letGo(job, 'superseded');
    this.#toEnding(job);
    await this.#settle(job, finish);
  }

  #explain({ key: name, namespace, uid }: Job, reason: string, message: string): void {
    this.#deps.events.record(PROBE_JOBS, { metadata: { name, namespace, uid } }, { type: 'Warning', reason, message });
  }

  /** Nothing begins of it any more. What it held of a runner without running on it is given back. */
  #toEnding(job: Job): void {
    if (job.state !== 'running') this.#letGo(job, 'cancelled');
    job.state = 'ending';
    disarm(job);
    this.#retrying.delete(job);
    if (this.#ledger.isWaiting(job.key)) this.#ledger.remove(job.key);
  }

  /**
   * The slot is free only when the status says so: whoever counts running jobs with kubectl never sees one too many.
   */
  async #settle(job: Job, finish: Finish): Promise<void> {
    await leaseSafe(this.#deps.term, 0);
    // Of an object that is gone there is no status; and one of the same name may stand there by now.
    const done = job.gone ? undefined : await writeFinish(this.#deps, job, finish, this.#deps.term.signal);
    if (!this.#live) return;
    this.#ledger.remove(job.key);
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
    const successor = this.#successors.get(job.key);
    this.#successors.delete(job.key);
    if (successor) this.seen(successor);
    this.#deps.metrics.finished(job.lane, finish.reason);
    if (done) this.#deps.retention.finished(done);
    this.#scheduleAll(job.account);
  }

  /** From the watch: the ProbeJob is gone. Of an unfinished one that means: cancel. */
  deleted(object: ProbeJob): void {
    const name = object.metadata.name;
    this.#taking.delete(name);
    this.#deps.retention.forget(name);
    if (this.#successors.get(name)?.metadata.uid === object.metadata.uid) this.#successors.delete(name);
    const job = this.#jobs.get(name);
    if (job && job.uid === (object.metadata.uid ?? job.uid)) void this.#deleted(job);
    else if (!isFinished(object.status)) {
      this.#ledger.remove(name);
      this.#scheduleAll();
      void endRequest(this.#deps, endableOf(object), CANCELLED, this.#deps.term.signal);
    }
  }

  async #deleted(job: Job): Promise<void> {
    job.gone = true;
    if (job.state === 'ending') return;
    await this.#end(job, CANCELLED);
  }

  // -------------------------------------------------------------------- timers

  #armQueue(job: Job): void {
    const waited = this.#deps.store.clock.now() - job.submittedAt.getTime();
    const left = Math.max(0, job.queueTimeoutMs - waited);
    const marked = job.status?.conditions !== undefined;
    later(this.#deps.term, job, left, () => {
      if (job.state !== 'waiting') return;
      const why = this.#whyWaiting(job);
      void this.#end(job, {
        state: 'error',
        status: 429,
        reason: 'QueueTimeout',
        error: `the request waited ${Math.round(job.queueTimeoutMs / 100) / 10} s in the queue: ${why.message}`,
      });
    });
    if (!marked) later(this.#deps.term, job, Math.max(0, MARK_AFTER_MS - waited), () => this.#marks.add(job));
  }

  #armDeadline(job: Job, startedAt: number): void {
    const left = startedAt + job.timeoutMs + DEADLINE_GRACE_MS - this.#deps.store.clock.now();
    later(this.#deps.term, job, Math.max(0, left), () => {
      void this.#end(job, {
        state: 'error',
        status: 200,
        reason: 'DeadlineExceeded',
        error: `the analysis did not end within ${job.timeoutMs} ms`,
        timedOut: job.assignment.tools,
        timeoutMs: job.timeoutMs,
      });
    });
  }

  #whyWaiting(job: Job): WaitingReason {
    const { account } = job;
    const [accountHeld, accountLimit] = [this.#ledger.heldByAccount(account), this.#ledger.limitOfAccount(account)];
    // First, because where both are used up, a larger limit of the token would not help.
    if (accountHeld >= accountLimit) {
      const message = `account ${account} runs ${accountHeld} of its ${accountLimit} at once, over all its users and tokens; ${this.#ledger.waitingOfAccount(account)} wait`;
      return { reason: 'AccountAtLimit', message };
    }
    const limit = this.#ledger.limitOf(job.token);
    const held = this.#ledger.heldBy(job.token);
    if (held >= limit)
      return {
        reason: 'TokenAtLimit',
        message: `token ${job.token} runs ${held} of its ${limit} at once, ${this.#ledger.waitingOf(job.token)} wait`,
      };
    const waiting = this.#ledger.waitingOf(job.token);
    return (
      this.#deps.pools.whyWaiting(job) ?? {
        reason: 'Queued',
        message: `its turn has not come: ${waiting} of its token wait`,
      }
    );
  }

  // ---------------------------------------------------------------------- views

  /** Waiting jobs by tenant in a lane that only lack a runner, and how long the oldest of each has waited. */
  demand(lane: string): Waiting[] {
    const waiting = new Map<string, Waiting>();
    const clock = this.#deps.store.clock.now();
    const count = (job: Job) => {
      const key = `${job.account} ${job.tenant}`;
      const waitMs = clock - job.submittedAt.getTime();
      const known = waiting.get(key);
      if (!known) waiting.set(key, { tenant: job.tenant, account: job.account, jobs: 1, waitMs });
      else {
        known.jobs += 1;
        known.waitMs = Math.max(known.waitMs, waitMs);
      }
    };
    for (const job of this.#retrying) if (job.lane === lane) count(job);
    for (const job of this.#ledger.nextUp(lane)) count(job);
    return [...waiting.values()];
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

const endableOf = (object: ProbeJob): Endable => ({
  id: idOf(object),
  key: object.metadata.name,
  namespace: object.metadata.namespace ?? '',
  uid: object.metadata.uid ?? '',
  resourceVersion: object.metadata.resourceVersion ?? '',
  submittedAt: submittedAtOf(object),
  attempt: 0,
  status: object.status,
});

const endOf = ({ status, reason, message }: Refusal): End => ({ state: 'error', status, reason, error: message });

const CANCELLED: End = { state: 'error', status: 500, reason: 'Cancelled', error: 'the request was cancelled' };
