/**
 * The leader's state during its term. None of it outlives the term: the ProbeJobs' status says which jobs run, and
 * Postgres which have ended.
 */
import type { Bus } from '../../../platform/bus/connect.ts';
import type { KubeClient } from '../../../platform/kube/client.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Logger } from '../../../base/log.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';
import { fullBucket, refill, take as takeOne, type Bucket } from '../../../base/token_bucket.ts';
import { makeTurns, type Turns } from '../../../base/turns.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { Pools } from '../pools/pools.ts';
import type { Runners } from '../pools/runners.ts';
import type { Recent } from '../snapshot/recent.ts';
import type { EarlyStart } from './early.ts';
import { whyWaiting, WaitingMarks } from './waiting.ts';
import { IntakeChains } from './intake.ts';
import type { Job } from './job.ts';
import { Ledger, type SlotLimits } from './ledger.ts';
import type { Term } from './lease_guard.ts';
import { PolicyDocuments } from './policies.ts';
import type { IntakeDeps } from './resolve_job.ts';
import type { FinishedJobs } from './finished_jobs.ts';
import { TokenRecords } from './tokens.ts';
import { WriteTurns } from './job_status.ts';

export interface LeaderDeps {
  term: Term;
  kube: KubeClient;
  bus: Bus;
  store: Store;
  log: Logger;
  namespace: string;
  runners: Runners;
  pools: Pools;
  finishedJobs: FinishedJobs;
  metrics: ControllerMetrics;
  events: EventRecorder;
  recent: Pick<Recent, 'jobEnded'>;
  intake: Omit<IntakeDeps, 'tokenOf' | 'defaultToken' | 'byHandTaken' | 'poolFor' | 'tools' | 'documents'>;
  /** `byHandPerMinute`: rate of jobs created by hand, over all who create them. */
  limits: { maxQueued: number; byHandPerMinute: number };
  /** Whether tools may begin while a ProbeJob is being created. */
  startsEarly: boolean;
  /** Whether notifications of changed tokens arrive. */
  tokensFresh: () => boolean;
}

/** With what the term makes for itself. */
export interface TermStateDeps extends LeaderDeps {
  writes: WriteTurns;
  records: Turns;
}

/** Callbacks into the parts of the term that are built on the state. */
export interface Following {
  /** Something changed in this pool: waiting jobs may be admitted. */
  admit(pool: string): void;
  /** The job has a runner and a slot. */
  admitHeld(job: Job): void;
  /** The end of a job is written, and another object was created under its name meanwhile. */
  seen(job: ProbeJob): void;
}

/** Of ends without a result. The connections are also those of the results that are collected. */
const RECORDED_AT_ONCE = 8;

export const now = (): number => performance.now();
export const slotsOf = ({ limits }: TokenRecord): SlotLimits => ({
  token: limits.concurrency,
  account: limits.accountConcurrency ?? Number.POSITIVE_INFINITY,
});

export function intakeDeps(state: TermState): IntakeDeps {
  const { intake, pools } = state.deps;
  return {
    ...intake,
    documents: state.documents,
    tokenOf: (id) => state.tokens.of(id),
    defaultToken: () => state.tokens.byHand(),
    byHandTaken: () => state.takeByHand(),
    tools: () => pools.availableTools(),
    poolFor: (kind) => pools.forKind(kind),
  };
}

export class TermState {
  readonly deps: TermStateDeps;
  readonly following: Following;
  readonly ledger = new Ledger<Job>();
  readonly jobs = new Map<string, Job>();
  /** Jobs in intake, or refused there: a second event must not take them in twice. */
  readonly taking = new Set<string>();
  readonly intake = new IntakeChains();
  readonly tokens: TokenRecords;
  readonly documents: PolicyDocuments;
  readonly retrying = new Set<Job>();
  readonly #scheduled = new Set<string>();
  #byHandRate: Bucket | undefined;
  /** Cached waiting accounts, valid until one of them gets a runner: read for each job that is skipped. */
  contenders: { pool: string; least: { account: number; held: number }[] } | undefined;
  /** Runners that are prepared for requests whose ProbeJob is being created, by its name. */
  readonly early = new Map<string, EarlyStart>();
  /** Of these, and of jobs whose admission is being written: those whose tools may run. */
  readonly begun = new Map<string, EarlyStart>();
  readonly marks: WaitingMarks;
  /** Objects created under the name of a job whose end is still being written. */
  readonly successors = new Map<string, ProbeJob>();
  /** Objects of events that came before the term was ready, by name: its list may be older. */
  readonly arrived = new Map<string, ProbeJob>();
  listed = false;
  ready = false;

  constructor(deps: LeaderDeps, following: Following) {
    this.deps = { ...deps, writes: new WriteTurns(), records: makeTurns(RECORDED_AT_ONCE) };
    this.following = following;
    this.tokens = new TokenRecords(deps.store, deps.tokensFresh);
    this.documents = new PolicyDocuments(deps.store);
    this.marks = new WaitingMarks({
      kube: deps.kube,
      store: deps.store,
      signal: deps.term.signal,
      why: (job) => whyWaiting(this.ledger, deps.pools, job),
      waited: (reason) => deps.metrics.waited(reason),
    });
  }

  /**
   * Counts a job created by hand; false if there are too many. A new leader does not count those that it finds: an
   * earlier one may have taken them in.
   */
  takeByHand(): boolean {
    if (!this.ready) return true;
    const { byHandPerMinute } = this.deps.limits;
    const pace = { perSecond: byHandPerMinute / 60, burst: byHandPerMinute };
    this.#byHandRate ??= fullBucket(pace, now());
    refill(this.#byHandRate, pace, now());
    return takeOne(this.#byHandRate);
  }

  get live(): boolean {
    return !this.deps.term.signal.aborted;
  }

  isIdle(token: number): boolean {
    return this.ledger.waitingOf(token) === 0 && this.ledger.heldBy(token) === 0;
  }

  /** `freed`: the account that got a slot back. */
  scheduleAll(freed?: number): void {
    const pools = this.deps.pools.names();
    for (const pool of freed === undefined ? pools : this.ledger.poolsByTurn(freed, pools)) this.schedule(pool);
  }

  /** Something changed in this pool: admits jobs at the end of the current turn of the event loop. */
  schedule(pool: string): void {
    if (this.#scheduled.has(pool)) return;
    this.#scheduled.add(pool);
    queueMicrotask(() => {
      this.#scheduled.delete(pool);
      if (this.ready && this.live) this.following.admit(pool);
    });
  }

  /** Reroutes jobs whose pool is gone, or that arrived when no pool served their kind. */
  rerouteStranded(): void {
    const pools = new Set(this.deps.pools.names());
    for (const job of this.retrying) if (!pools.has(job.pool)) job.pool = this.deps.pools.forKind(job.kind)?.name ?? '';
    for (const job of Array.from(this.ledger.waitingEntries())) {
      if (pools.has(job.pool)) continue;
      const pool = this.deps.pools.forKind(job.kind)?.name ?? '';
      if (pool === job.pool) continue;
      const limits = { token: this.ledger.limitOf(job.token), account: this.ledger.limitOfAccount(job.account) };
      this.ledger.remove(job.key);
      job.pool = pool;
      this.ledger.enqueue(job, limits);
    }
  }
}
