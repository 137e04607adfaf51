/** The end of a job: with a result recorded by a collector, or with an end set by the leader, as by its time-outs. */
import { isUse } from '../../../platform/bus/claims.ts';
import { type Closed, type RunnerUse, runsFor } from '../../../platform/bus/messages.ts';
import type { ProbeJob, Reason } from '../../../platform/kube/probe_job.ts';
import { endRequest, writeFinish, type End, type Endable } from './end_write.ts';
import type { JobEnd } from './job_status.ts';
import { explain, whyWaiting } from './waiting.ts';
import { idOf, submittedAtOf, type Job, type Refusal } from './job.ts';
import { isFinished } from '../../../platform/kube/conditions.ts';
import { disarm, later } from './lease_guard.ts';
import { unjudged } from './policies.ts';
import { sendCancel, type Said } from '../pools/send_order.ts';
import { letGo } from './orders.ts';
import { within } from '../../../base/retry.ts';
import type { TermState } from './term_state.ts';
import { TEXTS } from '../../result/texts.ts';
import { COMPARED_AT_ONCE } from '../../../base/limits.ts';
import { deadlineMs } from '../retry_policy.ts';

/** Reasons that are explained by an Event. Successful jobs and those cancelled by their caller get none. */
const EXPLAINED: ReadonlySet<Reason> = new Set(['RunnerLost', 'QueueTimeout', 'DeadlineExceeded', 'InternalError']);

export const endableOf = (object: ProbeJob, account?: number): Endable => ({
  id: idOf(object),
  key: object.metadata.name,
  account,
  namespace: object.metadata.namespace ?? '',
  uid: object.metadata.uid ?? '',
  resourceVersion: object.metadata.resourceVersion ?? '',
  submittedAt: submittedAtOf(object),
  attempt: 0,
  status: object.status,
});

export const endOf = ({ status, reason, message }: Refusal): End => ({
  state: 'error',
  status,
  reason,
  error: message,
});

export const CANCELLED: End = { state: 'error', status: 499, reason: 'Cancelled', error: TEXTS.Cancelled };

/** Called when a collector has recorded the result. */
export function closed(state: TermState, notice: Closed): void {
  const job = state.jobs.get(notice.job);
  if (job && job.id === notice.id) void finishJob(state, job, endIn(notice), notice.attempt);
}

const endIn = ({ reason, summary, tools, policy }: Closed): JobEnd => ({
  reason,
  summary,
  tools,
  ...(policy ? { policy } : {}),
});

/** Ends a job without a result. */
export async function endJob(state: TermState, job: Job, end: End): Promise<void> {
  if (job.state === 'ending') return;
  const { state: was, runner, attempt } = job;
  const letGone = toEnding(state, job);
  if (EXPLAINED.has(end.reason)) explain(state.deps.events, job, end.reason, end.error);
  const stopping =
    was === 'running' && runner
      ? sendCancel(state.deps.bus, runner.uid, {
          epoch: state.deps.term.epoch,
          job: job.key,
          attempt,
          why: end.reason === 'DeadlineExceeded' ? 'deadline' : 'cancelled',
        })
      : letGone;
  const used = await usedBefore(stopping);
  const recorded = await endRequest(state.deps, job, { ...end, used }, state.deps.term.signal);
  await stopping;
  await settle(state, job, recorded);
}

/** An answer takes some milliseconds: an end does not wait for a runner that is silent. */
const USED_WITHIN_MS = 250;

/** What the runner says that the job has cost until it was cancelled. */
async function usedBefore(cancelled: Promise<Said> | undefined): Promise<RunnerUse | undefined> {
  if (!cancelled) return undefined;
  const said = await within(USED_WITHIN_MS, cancelled).catch(() => undefined);
  return said?.ok && isUse(said.used) ? said.used : undefined;
}

export async function finishJob(state: TermState, job: Job, finish: JobEnd, attempt?: number): Promise<void> {
  if (job.state === 'ending') return;
  // An earlier attempt's result was recorded after all. The running attempt is obsolete, and would exceed the limit
  // once the slot is free.
  if (job.state === 'running' && attempt !== undefined && attempt !== job.attempt) letGo(state, job, 'superseded');
  await toEnding(state, job);
  await settle(state, job, finish);
}

/** Stops the job from starting, and releases a runner that it holds without running on it. */
function toEnding(state: TermState, job: Job): Promise<Said> | undefined {
  const said = job.state === 'running' ? undefined : letGo(state, job, 'cancelled');
  job.state = 'ending';
  disarm(job);
  state.retrying.delete(job);
  if (state.ledger.isWaiting(job.key)) state.ledger.remove(job.key);
  return said;
}

/**
 * The slot is released only after the status is written: an observer who counts running jobs with kubectl never sees
 * one too many.
 */
async function settle(state: TermState, job: Job, finish: JobEnd): Promise<void> {
  // A deleted object has no status to write, and another object may exist under its name.
  const policy = finish.policy ?? (job.policy && unjudged(job.policy));
  const done = job.gone
    ? undefined
    : await writeFinish(
        state.deps,
        job,
        { ...finish, ...(policy ? { policy } : {}) },
        { later: !state.ledger.holds(job.key) },
      );
  if (!state.live) return;
  state.ledger.remove(job.key);
  if (state.jobs.get(job.key) === job) state.jobs.delete(job.key);
  const successor = state.successors.get(job.key);
  state.successors.delete(job.key);
  if (successor) state.following.seen(successor);
  state.deps.metrics.finished(job.pool, finish.reason);
  state.deps.recent.jobEnded(finish.reason);
  if (done) state.deps.finishedJobs.add(done);
  state.scheduleAll(job.account);
}

/** From the watch: the ProbeJob was deleted. For an unfinished job this means cancel. */
export function deleted(state: TermState, object: ProbeJob): void {
  const name = object.metadata.name;
  state.taking.delete(name);
  state.arrived.delete(name);
  state.deps.finishedJobs.forget(name);
  if (state.successors.get(name)?.metadata.uid === object.metadata.uid) state.successors.delete(name);
  const job = state.jobs.get(name);
  if (job && job.uid === (object.metadata.uid ?? job.uid)) void objectGone(state, job);
  else if (!isFinished(object.status)) {
    state.ledger.remove(name);
    state.scheduleAll();
    void endRequest(state.deps, endableOf(object), CANCELLED, state.deps.term.signal);
  }
}

export async function objectGone(state: TermState, job: Job): Promise<void> {
  job.gone = true;
  if (job.state === 'ending') return;
  await endJob(state, job, CANCELLED);
}

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
