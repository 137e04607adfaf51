/**
 * The leader's term: from the ProbeJobs that the watch shows to admissions, orders and ends. One object per term; what
 * a term knows dies with it, because the truth is in ProbeJob status (who runs) and in Postgres (who has an end).
 *
 * No token and no account above its limit: the ledger counts, and an admission is written only while the lease is
 * safely ours, guarded by resourceVersion, with the epoch in it and with a server-side time-out, so that nothing of
 * this term can land in the next.
 */
import type { Closed, Early, Heartbeat, Lease as TaskLease } from '../../bus/messages.ts';
import type { ProbeJob } from '../../kube/probe_job.ts';
import type { Waiting } from '../pools/plan.ts';
import type { LostTask } from '../pools/runners.ts';
import { admitNext } from './dispatch.ts';
import { closed, deleted } from './ends.ts';
import { prepareEarly, seen } from './intake.ts';
import type { Job } from './job.ts';
import { disarm } from './lease_guard.ts';
import { heartbeat, podGone, tick } from './losses.ts';
import { recover } from './recover.ts';
import { TermState, type LeaderDeps } from './term_state.ts';
import { tokensChanged } from './tokens.ts';

export class Leader {
  readonly #state: TermState;

  constructor(deps: LeaderDeps) {
    this.#state = new TermState(deps, {
      admit: (pool) => admitNext(this.#state, pool),
      seen: (job) => seen(this.#state, job),
    });
  }

  start(): Promise<void> {
    return recover(this.#state);
  }

  stop(): void {
    for (const job of this.#state.jobs.values()) disarm(job);
    for (const { timer } of this.#state.early.values()) clearTimeout(timer);
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
    return prepareEarly(this.#state, notice);
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

  /** Tools or pools came or went. */
  poolsChanged(): void {
    this.#state.rerouteStranded();
    this.#state.scheduleAll();
  }

  /** Waiting jobs by tenant in a pool that only lack a runner, and how long the oldest of each has waited. */
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

  /** By request id; only jobs made by hand have another name than id, and those are found in the cache. */
  knows(id: string): boolean {
    return this.#state.jobs.has(id) || this.#state.taking.has(id);
  }

  get figures(): { waiting: number; running: number; jobs: number } {
    return { waiting: this.#state.ledger.waiting, running: this.#state.ledger.held, jobs: this.#state.jobs.size };
  }
}
