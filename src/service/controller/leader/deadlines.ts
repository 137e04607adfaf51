/** Queue time-out and deadline of a job. */
import { runsFor } from '../../../platform/bus/messages.ts';
import { COMPARED_AT_ONCE } from '../../../base/limits.ts';
import { deadlineMs } from '../retry_policy.ts';
import { endJob } from './ends.ts';
import { whyWaiting } from './explain.ts';
import type { Job } from './job.ts';
import { later } from './lease_guard.ts';
import type { TermState } from './term_state.ts';

/** A waiting job gets a condition only after this, so a job that starts promptly costs no extra write. */
const MARK_AFTER_MS = 1_000;

export function armQueue(state: TermState, job: Job): void {
  const waited = state.deps.store.clock.now() - job.submittedAt.getTime();
  const left = Math.max(0, job.queueTimeoutMs - waited);
  const marked = job.status?.conditions !== undefined;
  later(state.deps.term, job, left, () => {
    if (job.state !== 'waiting') return;
    const why = whyWaiting(state.ledger, state.deps.pools, job);
    void endJob(state, job, {
      state: 'error',
      status: 429,
      reason: 'QueueTimeout',
      error: `the request waited ${Math.round(job.queueTimeoutMs / 100) / 10} s in the queue: ${why.message}`,
    });
  });
  if (!marked) later(state.deps.term, job, Math.max(0, MARK_AFTER_MS - waited), () => state.marks.add(job));
}

/** Nobody knows which of them ran, and for how long: together no more than can run in the job's time. */
const ranAtMost = ({ assignment, timeoutMs }: Pick<Job, 'assignment' | 'timeoutMs'>, runs: number): number =>
  assignment.kind === 'compare' ? Math.round(timeoutMs * Math.min(1, COMPARED_AT_ONCE / runs)) : timeoutMs;

export function armDeadline(state: TermState, job: Job, startedAt: number): void {
  const left = startedAt + deadlineMs(job.timeoutMs) - state.deps.store.clock.now();
  later(state.deps.term, job, Math.max(0, left), () => {
    const timedOut = runsFor(job.assignment.tools, job.assignment.other !== undefined);
    void endJob(state, job, {
      state: 'error',
      status: 200,
      reason: 'DeadlineExceeded',
      error: `the analysis did not end within ${job.timeoutMs} ms`,
      timedOut,
      ranMs: ranAtMost(job, timedOut.length),
    });
  });
}
