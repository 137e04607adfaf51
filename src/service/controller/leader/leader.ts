/**
 * The leader's term: from the ProbeJobs of the watch to admissions, orders and ends. There is one object per term, and
 * its knowledge ends with it: the ProbeJob status says who runs, and Postgres who has an end.
 *
 * No token and no account exceeds its limit. The ledger counts, and an admission is written only while the lease is
 * safely held. The write is guarded by resourceVersion, carries the epoch and has a server-side time-out, so no write
 * of this term can land in the next.
 */
import type { Closed, Early, Heartbeat, Lease as TaskLease } from '../../../platform/bus/messages.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Waiting } from '../pools/plan.ts';
import type { LostTask } from '../pools/runners.ts';
import type { SnapshotView } from '../snapshot/build.ts';
import { queueOf } from '../snapshot/queue.ts';
import { admit, admitNext } from './dispatch.ts';
import { endEarly, startEarly } from './early.ts';
import { closed, deleted } from './ends.ts';
import { seen } from './intake.ts';
import type { Job } from './job.ts';
import { disarm } from './lease_guard.ts';
import { connectionChanged, heartbeat, podGone, tick } from './losses.ts';
import { recover } from './recover.ts';
import { TermState, type LeaderDeps } from './term_state.ts';
import { tokensChanged } from './tokens.ts';

export class Leader {
  readonly #state: TermState;
  #unfollow = (): void => {};

  constructor(deps: LeaderDeps) {
    this.#state = new TermState(deps, {
      admit: (pool) => admitNext(this.#state, pool),
      admitHeld: (job) => void admit(this.#state, job),
      seen: (job) => seen(this.#state, job),
    });
  }

  start(): Promise<void> {
    const { bus } = this.#state.deps;
    this.#unfollow = bus.onStatus((status) => connectionChanged(this.#state, status));
    return recover(this.#state);
  }

  /** Resolves when no tool is left that this term began without an admission. */
  async stop(): Promise<void> {
    this.#unfollow();
    for (const job of this.#state.jobs.values()) disarm(job);
    await endEarly(this.#state);
  }

  tokensChanged(which: number[] | 'all'): Promise<void> {
    return tokensChanged(this.#state, which);
  }

  seen(job: ProbeJob): void {
    seen(this.#state, job);
  }

  deleted(job: ProbeJob): void {
    deleted(this.#state, job);
  }

  early(notice: Early): Promise<void> {
    return startEarly(this.#state, notice);
  }

  closed(notice: Closed): void {
    closed(this.#state, notice);
  }

  podGone(task: LostTask): void {
    podGone(this.#state, task);
  }

  heartbeat(beat: Heartbeat): TaskLease {
    return heartbeat(this.#state, beat);
  }

  tick(): Promise<void> {
    return tick(this.#state);
  }

  /** Tools or pools were added or removed. */
  poolsChanged(): void {
    this.#state.rerouteStranded();
    this.#state.scheduleAll();
  }

  /** Waiting jobs of a pool that lack only a runner, by tenant, with the waiting time of the oldest. */
  demand(pool: string): Waiting[] {
    const waiting = new Map<string, Waiting>();
    const clock = this.#state.deps.store.clock.now();
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
    for (const job of this.#state.retrying) if (job.pool === pool) count(job);
    for (const job of this.#state.ledger.nextUp(pool)) count(job);
    return [...waiting.values()];
  }

  /** Queue and jobs for the cluster snapshot. */
  view(): Pick<SnapshotView, 'queue' | 'jobOf'> {
    const { ledger, jobs } = this.#state;
    return { jobOf: (name) => jobs.get(name), queue: queueOf(ledger) };
  }

  /** By request id. Only jobs created by hand have a name other than their id, and those are found in the cache. */
  knows(id: string): boolean {
    return this.#state.jobs.has(id) || this.#state.taking.has(id);
  }

  get figures(): { waiting: number; running: number; jobs: number } {
    return { waiting: this.#state.ledger.waiting, running: this.#state.ledger.held, jobs: this.#state.jobs.size };
  }
}
