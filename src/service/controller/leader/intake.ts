/** Turns a ProbeJob from the watch into a waiting or running job, in the order of each account. */
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { requestFields } from '../../../base/log.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { armDeadline, armQueue, CANCELLED, endableOf, endJob, endOf, objectGone } from './ends.ts';
import { dropEarly, takeEarly } from './early.ts';
import { endRequest, writeFinish } from './end_write.ts';
import { Refusal, idOf, type Job } from './job.ts';
import { isAdmitted, isFinished } from '../../../platform/kube/conditions.ts';
import { isBeingDeleted } from './job_status.ts';
import { reserve } from './orders.ts';
import { activeToken, takeIn } from './resolve_job.ts';
import { intakeDeps, now, slotsOf, type TermState } from './term_state.ts';
import { queueShare } from '../../../base/limits.ts';
import { ACCOUNT_QUEUE_FULL, TEXTS } from '../../result/texts.ts';
import { makeTurns } from '../../../base/turns.ts';

/** From the watch: a job was created or changed. */
export function seen(state: TermState, job: ProbeJob): void {
  // Until the listed jobs are taken in, in order, events wait: most of those objects are in the list.
  if (!state.ready) state.arrived.set(job.metadata.name, job);
  if (!state.listed) return;
  // Finished by any writer, whether or not that write was acknowledged.
  if (isFinished(job.status)) state.deps.finishedJobs.add(job);
  const known = state.jobs.get(job.metadata.name);
  if (known) {
    // The known job was deleted and its end is not written yet. Its successor is taken in after that.
    if (known.uid !== job.metadata.uid) state.successors.set(job.metadata.name, job);
    else if (isBeingDeleted(job)) void endJob(state, known, CANCELLED);
    // Our own writes also arrive here. In between, only foreign writes change the version.
    else if (known.state === 'waiting') {
      known.resourceVersion = job.metadata.resourceVersion ?? known.resourceVersion;
      known.status = job.status;
      // The previous leader finished it, and that write landed only now. The record already has its end, or gets one
      // here.
      if (isFinished(job.status)) void objectGone(state, known);
    }
    return;
  }
  if (!isFinished(job.status)) take(state, job);
}

/** Stands for the token of jobs created by hand. Real ids begin with 1. */
const BY_HAND = 0;

export function take(state: TermState, job: ProbeJob): void {
  const name = job.metadata.name;
  if (state.taking.has(name) || state.jobs.has(name)) return;
  state.taking.add(name);
  holdSlot(state, job);
  const token = job.spec.token?.id ?? BY_HAND;
  // In order: a token's queue is first in, first out by arrival, not by the time of decryption.
  state.intake.add(token, state.tokens.known(token)?.rootUserId, async () => {
    if (!state.live || !state.taking.has(name)) return;
    try {
      await admitToQueue(state, job);
    } catch (error) {
      if (!state.live) return;
      state.deps.log.error(
        { err: error, ...requestFields({ id: idOf(job), job: name }) },
        'cannot queue a job, will retry',
      );
      // It stays in `taking`, so that a runner that already runs it is not told to cancel.
      setTimeout(() => {
        if (state.live && state.taking.delete(name)) take(state, job);
      }, 1_000).unref();
      return;
    }
    state.taking.delete(name);
  });
}

async function admitToQueue(state: TermState, object: ProbeJob): Promise<void> {
  const name = object.metadata.name;
  const early = takeEarly(state, name);
  let taken: { job: Job; token: TokenRecord };
  try {
    taken = early ? await created(state, early.job, object) : await takeIn(intakeDeps(state), object);
    // A change notification during the awaits may have skipped this token, because it had no jobs yet. So its record is
    // read again, in the same turn that queues the job.
    if (!isAdmitted(object.status))
      taken.token = activeToken(await state.tokens.of(taken.job.token), state.deps.store.clock.now());
  } catch (error) {
    if (early) dropEarly(state, early);
    if (!(error instanceof Refusal)) throw error;
    // Not awaited, because it waits for Postgres and the API server and would delay the jobs behind.
    void refuse(state, object, error);
    return;
  }
  const { job, token } = taken;
  // Deleted during intake.
  if (!state.taking.has(name)) {
    if (early) dropEarly(state, early);
    return;
  }
  state.jobs.set(job.key, job);
  const holds = early !== undefined && state.ledger.handOver(early.slot, job);
  if (isAdmitted(object.status)) {
    job.state = 'running';
    job.runner = object.status?.runner;
    job.goAt = now();
    state.ledger.hold(job, slotsOf(token));
    armDeadline(state, job, Date.parse(object.status?.startedAt ?? '') || state.deps.store.clock.now());
    if (isBeingDeleted(object)) void endJob(state, job, CANCELLED);
    return;
  }
  if (isBeingDeleted(object)) {
    void endJob(state, job, CANCELLED);
    return;
  }
  // Its pod may be gone since.
  if (holds && reserve(state, job)) {
    armQueue(state, job);
    state.following.admitHeld(job);
    return;
  }
  if (holds) state.ledger.remove(job.key);
  const full = whyFull(state, job.account);
  if (full !== undefined) {
    void endJob(state, job, { state: 'error', status: 429, reason: 'QueueFull', error: full });
    return;
  }
  state.ledger.enqueue(job, slotsOf(token));
  armQueue(state, job);
  state.schedule(job.pool);
}

/** The text of the limit that the queue has reached for jobs of this account. */
function whyFull({ ledger, deps }: TermState, account: number): string | undefined {
  const { maxQueued } = deps.limits;
  if (ledger.waiting >= maxQueued) return TEXTS.QueueFull;
  return ledger.waitingOfAccount(account) >= queueShare(maxQueued) ? ACCOUNT_QUEUE_FULL : undefined;
}

async function created(state: TermState, job: Job, object: ProbeJob): Promise<{ job: Job; token: TokenRecord }> {
  job.uid = object.metadata.uid ?? '';
  job.resourceVersion = object.metadata.resourceVersion ?? '';
  job.status = object.status;
  return { job, token: activeToken(await state.tokens.of(job.token), state.deps.store.clock.now()) };
}

async function refuse(state: TermState, object: ProbeJob, refusal: Refusal): Promise<void> {
  const ended = endableOf(object, state.tokens.known(object.spec.token?.id ?? BY_HAND)?.rootUserId);
  const recorded = refusal.opened
    ? await endRequest(state.deps, ended, endOf(refusal), state.deps.term.signal)
    : { reason: refusal.reason, summary: refusal.message, tools: [] };
  await writeFinish(state.deps, ended, recorded, { later: true });
  if (!state.live || state.jobs.has(ended.key)) return;
  state.ledger.remove(ended.key);
  state.scheduleAll();
}

/**
 * Counts the slot from the job's status alone, before any I/O: a running job always counts for its token and account.
 */
function holdSlot({ ledger }: TermState, { metadata, status }: ProbeJob): void {
  const { token, account } = status?.admittedBy ?? {};
  if (isAdmitted(status) && token !== undefined && account !== undefined)
    ledger.hold({ key: metadata.name, token, account, pool: '' });
}

/** Jobs in intake at once, one of each chain. They share the connections to Postgres with the results. */
const AT_ONCE = 8;

/**
 * The order of intake: one job after another within an account, and accounts side by side, so that a job that waits for
 * Postgres or the API server holds up nobody else's. Jobs created by hand are a chain of their own.
 */
export class IntakeChains {
  readonly #turns = makeTurns(AT_ONCE);
  /** The last job of each chain. A chain without jobs is forgotten. */
  readonly #last = new Map<string, Promise<void>>();
  /** The chain of each token in intake: it stays the same when the token's account becomes known meanwhile. */
  readonly #tokens = new Map<number, { chain: string; jobs: number }>();

  /** `account`: that of the token, if it is known. `work` must not fail. */
  add(token: number, account: number | undefined, work: () => Promise<void>): void {
    const of = this.#tokens.get(token) ?? {
      chain: account === undefined ? `token ${token}` : `account ${account}`,
      jobs: 0,
    };
    this.#tokens.set(token, of);
    of.jobs += 1;
    const before = this.#last.get(of.chain) ?? Promise.resolve();
    const last = before
      .then(() => this.#turns.run(work))
      .finally(() => {
        of.jobs -= 1;
        if (of.jobs === 0) this.#tokens.delete(token);
        if (this.#last.get(of.chain) === last) this.#last.delete(of.chain);
      });
    this.#last.set(of.chain, last);
  }

  /** Number of chains with jobs. */
  get size(): number {
    return this.#last.size;
  }

  /** Resolves when all jobs that are in intake now have been taken in. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
