/**
 * The leader's state during its term. None of it outlives the term: the ProbeJobs' status says which jobs run, and
 * Postgres which have ended.
 */
import type { JSONWebKeySet } from 'jose';
import type { NamedCredential } from '../../../base/source_settings.ts';
import type { Identities } from '../../../platform/identity/identities.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Reflector } from '../../../platform/kube/reflector.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import { requestFields } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { fullBucket, refill, take as takeOne, type Bucket } from '../../../base/token_bucket.ts';
import { makeTurns, type Turns } from '../../../base/turns.ts';
import type { ControllerDeps } from '../clients.ts';
import type { Pools } from '../pools/pools.ts';
import type { Runners } from '../pools/runners.ts';
import { ServedNamespaces, type JobKey } from '../../../platform/kube/served_namespaces.ts';
import { hadCredentials, tenantOf } from '../pools/share.ts';
import { INTERNAL } from '../../result/texts.ts';
import type { Recent } from '../snapshot/recent.ts';
import { IntakeChains } from './intake_chains.ts';
import { ItemPace } from './item_pace.ts';
import {
  isResolved,
  transition,
  TRANSITIONS,
  type End,
  type Effects,
  type Job,
  type JobEvent,
  type JobRecord,
  type JobState,
  type Transition,
} from './job.ts';
import { Ledger, type SlotLimits } from './ledger.ts';
import type { Term } from './lease_guard.ts';
import { policyDocuments, type PolicyDocuments } from './policies.ts';
import type { FinishedJobs } from './finished_jobs.ts';
import { tokenRecords, type TokenRecords } from './token_records.ts';
import { WriteTurns } from './job_status.ts';

/** How sources are opened. */
export interface IntakeSettings {
  /** Called at each use, because keys rotate. */
  keys: () => JSONWebKeySet;
  /** Additional hosts with an S3 API, besides Amazon's. */
  s3Hosts: readonly string[];
  /** Credentials that a request may name. */
  named: {
    credentials: readonly NamedCredential[];
    /** Has a folder for each credential with a Secret, with its keys. */
    folder: string;
    /** Access for those without a Secret. */
    identities: Identities;
  };
}

export interface LeaderDeps extends ControllerDeps {
  term: Term;
  namespace: string;
  runners: Runners;
  /** The cache of ProbeJobs. */
  jobs: Pick<Reflector<ProbeJob>, 'list' | 'get' | 'countBy' | 'relist'>;
  pools: Pools;
  finishedJobs: FinishedJobs;
  events: EventRecorder;
  recent: Pick<Recent, 'jobEnded'>;
  intake: IntakeSettings;
  /** Whether notifications of changed tokens arrive. */
  tokensFresh: () => boolean;
}

/** With what the term makes for itself. */
export interface TermStateDeps extends LeaderDeps {
  writes: WriteTurns;
  records: Turns;
}

/** The records of all jobs. */
class Jobs {
  readonly #records = new Map<JobKey, JobRecord>();
  /** Index of those that wait for another runner. */
  readonly #retrying = new Set<Job>();
  readonly #suspended = new Set<string>();

  get(key: JobKey): JobRecord | undefined {
    return this.#records.get(key);
  }

  /** A job that was taken in and has not ended. */
  taken(key: JobKey): Job | undefined {
    const record = this.#records.get(key);
    return isTaken(record) ? record : undefined;
  }

  *allTaken(): Iterable<Job> {
    for (const record of this.#records.values()) if (isTaken(record)) yield record;
  }

  retrying(): Iterable<Job> {
    return this.#retrying;
  }

  get suspended(): number {
    return this.#suspended.size;
  }

  /** `as`: the record from now on, as that of a job that is resolved now. */
  put(record: JobRecord, state: JobState, as: JobRecord): void {
    if (isResolved(record)) this.#retrying.delete(record);
    record.state = state as never;
    as.state = state as never;
    if (state === 'suspended') this.#suspended.add(as.key);
    else this.#suspended.delete(as.key);
    if (state === 'none') this.#records.delete(as.key);
    else this.#records.set(as.key, as);
    if (state === 'retrying' && isResolved(as)) this.#retrying.add(as);
  }
}

const TAKEN: ReadonlySet<JobState> = new Set(['waiting', 'admitting', 'running', 'lost', 'retrying', 'ending']);
const isTaken = (record: JobRecord | undefined): record is Job => isResolved(record) && TAKEN.has(record.state);

/** Logged for an event that a job cannot get in its state. */
export const IMPOSSIBLE = 'impossible event of a job, ignored';

const FAULT = 'internal error in the work on a job';
const FAULT_PAUSES = { first: 100, longest: 10_000 };
const FAILED: End = { status: 500, reason: 'InternalError', error: INTERNAL };

/** Of ends without a result. The connections are also those of the results that are collected. */
const RECORDED_AT_ONCE = 8;
const MARKED_AT_ONCE = 4;

export const now = (): number => performance.now();
export const slotsOf = ({ limits }: TokenRecord): SlotLimits => ({
  token: limits.concurrency,
  account: limits.accountConcurrency ?? Number.POSITIVE_INFINITY,
});

type AnyEffect = (state: TermState, job: JobRecord, event: JobEvent) => void | Promise<void>;

export class TermState {
  readonly deps: TermStateDeps;
  readonly #effects: Effects<TermState>;
  readonly #admit: (state: TermState, pool: string) => void;
  readonly ledger = new Ledger<Job>();
  readonly jobs = new Jobs();
  readonly intake = new IntakeChains();
  readonly pace = new ItemPace();
  readonly tokens: TokenRecords;
  readonly documents: PolicyDocuments;
  readonly #scheduled = new Set<string>();
  readonly #scheduledLater = new Set<string>();
  /** By namespace. */
  readonly #byHandRates = new Map<string, Bucket>();
  /** Cached waiting accounts, valid until one of them gets a runner: read for each job that is skipped. */
  contenders: { pool: string; background: boolean; least: { account: number; held: number }[] } | undefined;
  /** Those of waiting jobs that are written at once. */
  readonly marks = makeTurns(MARKED_AT_ONCE);
  readonly served: ServedNamespaces;
  /** Objects of events that came before the term was ready: its list may be older. */
  readonly arrived = new Map<JobKey, ProbeJob>();
  listed = false;
  ready = false;

  constructor(deps: LeaderDeps, effects: Effects<TermState>, admit: (state: TermState, pool: string) => void) {
    this.deps = { ...deps, writes: new WriteTurns(), records: makeTurns(RECORDED_AT_ONCE) };
    this.#effects = effects;
    this.#admit = admit;
    this.served = new ServedNamespaces(deps.config);
    this.tokens = tokenRecords(deps.store, deps.tokensFresh);
    this.documents = policyDocuments(deps.store);
  }

  /**
   * The one way in which a job changes its state. Resolves when the effects are over. An event of a record that is not
   * that of its ProbeJob any more is ignored.
   */
  async move(record: JobRecord, event: JobEvent): Promise<void> {
    const known = this.jobs.get(record.key);
    if (known !== record && (known !== undefined || record.state !== 'none')) return;
    let next: Transition | undefined;
    try {
      next = transition(record.state, event.is);
    } catch (error) {
      this.deps.log.error({ err: error, ...requestFields({ job: record.key }) }, IMPOSSIBLE);
    }
    if (!next) return;
    const job = 'job' in event && event.job ? event.job : record;
    this.jobs.put(record, next.to, job);
    const effects = next.effects.map((name) => this.#effects[name] as AnyEffect);
    await Promise.all(effects.map((effect) => this.alone(job, () => effect(this, job, event))));
  }

  /**
   * Does work on a job. An error in it is a fault of ours: it ends this job alone, and what ends the job is done again.
   * Never rejects.
   */
  async alone(record: JobRecord, work: () => void | Promise<void>): Promise<void> {
    const { log, term } = this.deps;
    const began = record.state;
    const when = (): boolean => began === 'ending' && record.state === began;
    const fault = (error: unknown): void =>
      log.error({ err: error, ...requestFields({ job: record.key }), state: record.state }, FAULT);
    try {
      await retry(async () => work(), { ...FAULT_PAUSES, signal: term.signal, when, onRetry: fault });
    } catch (error) {
      fault(error);
      const mayEnd = isResolved(record) && typeof TRANSITIONS[record.state].ended === 'object';
      if (mayEnd && this.live) await this.move(record, { is: 'ended', end: FAILED });
    }
  }

  /**
   * Counts a job created by hand; false if there are too many. A new leader does not count those that it finds: an
   * earlier one may have taken them in.
   */
  takeByHand(namespace: string): boolean {
    if (!this.ready) return true;
    const { byHandPerMinute } = this.deps.config;
    const pace = { perSecond: byHandPerMinute / 60, burst: byHandPerMinute };
    const rate = getOrMake(this.#byHandRates, namespace, () => fullBucket(pace, now()));
    refill(rate, pace, now());
    return takeOne(rate);
  }

  get live(): boolean {
    return !this.deps.term.signal.aborted;
  }

  isIdle(token: number): boolean {
    const { waiting, held } = this.ledger.token(token);
    return waiting === 0 && held === 0;
  }

  /** `freed`: the account that got a slot back. */
  scheduleAll(freed?: number): void {
    const pools = this.deps.pools.names();
    for (const pool of freed === undefined ? pools : this.ledger.poolsByTurn(freed, pools)) this.schedule(pool);
  }

  /**
   * Something changed in this pool: admits jobs at the end of the current turn of the event loop, or in the next one.
   * Until then, further changes ask for nothing more.
   */
  schedule(pool: string, defer: (admit: () => void) => void = queueMicrotask): void {
    if (this.#scheduled.has(pool)) return;
    this.#scheduled.add(pool);
    defer(() => {
      this.#scheduled.delete(pool);
      if (this.ready && this.live) this.#admit(this, pool);
    });
  }

  /** Items of the pool wait for their turn beside callers. */
  scheduleLater(pool: string, ms: number): void {
    if (this.#scheduledLater.has(pool)) return;
    this.#scheduledLater.add(pool);
    setTimeout(() => {
      this.#scheduledLater.delete(pool);
      this.schedule(pool);
    }, ms);
  }

  /** A job that has no runner goes where it would go if it came now. */
  route(job: Job): void {
    const { id, token, account } = job;
    const pool = this.deps.pools.forJob(job);
    const credentials = hadCredentials(job.tenant);
    const tenant = tenantOf(pool?.scope ?? 'account', { id, token, account, credentials });
    if (job.pool === (pool?.name ?? '') && job.tenant === tenant) return;
    const waits = this.ledger.isWaiting(job.key);
    const limits = { token: this.ledger.token(token).limit, account: this.ledger.account(account).limit };
    if (waits) this.ledger.remove(job.key);
    Object.assign(job, { pool: pool?.name ?? '', tenant });
    if (waits) this.ledger.enqueue(job, limits);
  }

  /** A pool has come, changed or gone. */
  reroute(): void {
    for (const job of [...this.jobs.retrying(), ...this.ledger.waitingEntries()]) this.route(job);
  }
}
