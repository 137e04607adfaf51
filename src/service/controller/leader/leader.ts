/**
 * The leader's term: from the ProbeJobs of the watch to admissions, orders and ends. There is one object per term, and
 * its knowledge ends with it: the ProbeJob status says who runs, and Postgres who has an end.
 *
 * No token and no account exceeds its limit. The ledger counts, and an admission is written only while the lease is
 * safely held. The write is guarded by resourceVersion, carries the epoch and has a server-side time-out, so no write
 * of this term can land in the next.
 */
import { getOrMake } from '../../../base/get_or_make.ts';
import { retry } from '../../../base/retry.ts';
import { makeTurns } from '../../../base/turns.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Waiting } from '../pools/plan.ts';
import { nextItem } from './chunk.ts';
import { create, noteObject } from './create.ts';
import { admit, admitNext, go, startAttempt } from './dispatch.ts';
import {
  deleted,
  limitQueueTime,
  limitRunTime,
  recordCancellation,
  recordEndOf,
  releaseSlot,
  reportEnd,
  stop,
  writeEnd,
  endOf,
} from './ends.ts';
import { countSlot, markResumed, markSuspended, resolve, resolveLater, seen, writeRefusal } from './intake.ts';
import { stateOf, type Effects, type Job } from './job.ts';
import { disarm } from './lease_guard.ts';
import { connectionChanged, lookUpEnd } from './losses.ts';
import { letGo, prepare } from './orders.ts';
import { recover } from './recover.ts';
import { slotsOf, TermState, type LeaderDeps } from './term_state.ts';
import { refusalOf } from './resolve_job.ts';

/** By name, in the order in which a job meets them. */
const EFFECTS: Effects<TermState> = {
  create,
  'note object': noteObject,
  'mark suspended': markSuspended,
  'mark resumed': markResumed,
  'count slot': countSlot,
  resolve,
  'resolve later': resolveLater,
  'write refusal': writeRefusal,
  enqueue: ({ ledger }, job, { slots }) => ledger.enqueue(job, slots),
  'hold slot': ({ ledger }, job, { slots }) => ledger.hold(job, slots),
  'limit queue time': limitQueueTime,
  'limit run time': limitRunTime,
  prepare,
  'write admission': admit,
  'start attempt': startAttempt,
  go,
  'next item': nextItem,
  supersede(state, job, { is }) {
    const said = letGo(state, job, 'superseded', job.attempt);
    if (is === 'outrun') job.stopped = said;
  },
  'look up end': lookUpEnd,
  'find pool': (state, job) => state.route(job),
  'admit others': (state, { pool }) => state.schedule(pool),
  'leave queue': ({ ledger }, { key }) => {
    if (ledger.isWaiting(key)) ledger.remove(key);
  },
  'let go': (state, job) => {
    job.stopped = letGo(state, job, 'cancelled', job.attempt + 1);
  },
  stop,
  disarm: (_, job) => disarm(job),
  'mark gone': (_, job, { object }) => {
    job.gone = true;
    // Shown while it was being created.
    if (object && job.successor?.metadata.uid === object.metadata.uid) job.successor = undefined;
  },
  'record end': recordEndOf,
  'write end': writeEnd,
  'record cancellation': recordCancellation,
  'release slot': releaseSlot,
  'report end': reportEnd,
  'take successor': (state, { successor }) => {
    if (successor) seen(state, successor);
  },
};

const PAUSES = { first: 100, longest: 2_000 };

export class Leader extends TermState {
  #unfollow = (): void => {};

  constructor(deps: LeaderDeps) {
    super(deps, EFFECTS, admitNext);
  }

  start(): Promise<void> {
    this.#unfollow = this.deps.bus.onStatus((status) => connectionChanged(this, status));
    return recover(this);
  }

  stop(): void {
    this.#unfollow();
    for (const job of this.jobs.allTaken()) disarm(job);
  }

  seen(job: ProbeJob): void {
    seen(this, job);
  }

  deleted(job: ProbeJob): void {
    deleted(this, job);
  }

  /**
   * A token or user changed, or notifications may have been lost: limits always come from the record, never from a
   * spec.
   */
  async tokensChanged(which: number[] | 'all'): Promise<void> {
    const { tokens, ledger, deps } = this;
    const known = tokens.changed(which);
    // Tokens without jobs are just dropped from the cache and read again with their next job.
    const ids = known.filter((id) => !this.isIdle(id));
    for (const id of known) if (this.isIdle(id)) tokens.forget(id);
    if (ids.length === 0) return;
    await retry(() => tokens.load(ids), {
      ...PAUSES,
      signal: deps.term.signal,
      onRetry: (error) => deps.log.warn({ err: error }, 'cannot load token limits, will retry'),
    });
    for (const id of ids) {
      const record = tokens.known(id);
      if (record && !this.isIdle(id)) ledger.setLimits(id, slotsOf(record));
    }
    endWaiting(this, ids);
    this.scheduleAll();
  }

  /** Tools or pools were added or removed. */
  poolsChanged(): void {
    this.reroute();
    this.scheduleAll();
  }

  /** Waiting jobs of a pool that lack only a runner, by tenant, with the waiting time of the oldest. */
  demand(pool: string): Waiting[] {
    const waiting = new Map<string, Waiting>();
    const clock = this.deps.store.clock.now();
    const count = ({ tenant, account, submittedAt }: Job) => {
      const of = getOrMake(waiting, `${account} ${tenant}`, () => ({ tenant, account, jobs: 0, waitMs: -Infinity }));
      of.jobs += 1;
      of.waitMs = Math.max(of.waitMs, clock - submittedAt.getTime());
    };
    for (const job of this.jobs.retrying()) if (job.pool === pool) count(job);
    for (const job of this.ledger.nextUp(pool)) count(job);
    return [...waiting.values()];
  }

  /** By request id. Only jobs created by hand have a name other than their id, and those are found in the cache. */
  knows(id: string): boolean {
    const record = this.jobs.get(id);
    return record !== undefined && record.state !== 'creating';
  }
}

/** Maximum number of waiting jobs that are ended concurrently. */
const ENDED_AT_ONCE = 20;

/** Ends the waiting jobs of tokens that were revoked, have expired or belong to a suspended account. */
function endWaiting(state: TermState, tokens: readonly number[]): void {
  const clock = state.deps.store.clock.now();
  const refusals = new Map(
    tokens.flatMap((id) => {
      const refusal = refusalOf(state.tokens.known(id), clock);
      return refusal ? [[id, refusal] as const] : [];
    }),
  );
  if (refusals.size === 0) return;
  const turns = makeTurns(ENDED_AT_ONCE);
  for (const job of state.ledger.waitingEntries()) {
    const refusal = refusals.get(job.token);
    if (refusal)
      void turns.run(async () => {
        if (state.live && stateOf(job) === 'waiting') await state.move(job, { is: 'ended', end: endOf(refusal) });
      });
  }
}
