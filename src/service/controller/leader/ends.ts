/**
 * The end of a job: with a result recorded by a collector, or with an end set by the leader, as by its time-outs. A
 * request has one end: it is recorded in Postgres unless there is one already, sent to the waiting API replica, and
 * written to the ProbeJob's status.
 */
import { isUse } from '../../../platform/bus/claims.ts';
import { runsFor, withoutResult, type Closed, type RunnerUse, SUBJECT } from '../../../platform/bus/messages.ts';
import { COMPARED_AT_ONCE } from '../../../base/limits.ts';
import { within, backoff, pause, retry } from '../../../base/retry.ts';
import { isFinished, stamp } from '../../../platform/kube/conditions.ts';
import type { ProbeJob, Reason } from '../../../platform/kube/probe_job.ts';
import { isOurs } from '../../../platform/kube/resource.ts';
import { TEXTS } from '../../result/texts.ts';
import type { ControllerDeps } from '../clients.ts';
import { sendCancel, type Said } from '../pools/send_order.ts';
import { attemptEnded, returnItemsOf, returnRest } from './chunk.ts';
import { deadlineMs } from '../retry_policy.ts';
import type { JobKey } from '../../../platform/kube/served_namespaces.ts';
import {
  beganAt,
  idOf,
  isResolved,
  submittedAtOf,
  type End,
  type EventOf,
  type Job,
  type JobRecord,
  type Refusal,
  resultPathOf,
} from './job.ts';
import { type JobEnd, finishedStatus, readLive, writeStatus, type StatusTarget } from './job_status.ts';
import { later, leaseSafe } from './lease_guard.ts';
import { policyStatus } from './policies.ts';
import type { TermState, TermStateDeps } from './term_state.ts';
import { explain, markWaiting, whyWaiting } from './waiting.ts';
import { packBody, type PackedBody } from '../../../platform/bus/packing.ts';
import type { ResultBody } from '../../../platform/bus/result_body.ts';
import { isKubeError } from '../../../platform/kube/client.ts';
import { requestFields } from '../../../base/log.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import type { RecordedEnd } from '../../../platform/store/requests.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import type { Turns } from '../../../base/turns.ts';
import { recordEnd } from '../collect/record_end.ts';

/** Ends that say something of the cluster. */
const OF_CLUSTER: ReadonlySet<Reason> = new Set(['RunnerLost', 'QueueTimeout', 'DeadlineExceeded', 'InternalError']);
const WITHOUT_EVENT: ReadonlySet<Reason> = new Set(['Completed', 'Cancelled']);

const isByHand = ({ id, uid }: Pick<Endable, 'id' | 'uid'>): boolean => id === uid;

/**
 * Whether an end gets an Event. Callers of the API read why their requests failed in the answer, and there may be many
 * of them; who makes a job with kubectl reads its Events.
 */
const hasEvent = (job: Endable, reason: Reason): boolean =>
  isByHand(job) ? !WITHOUT_EVENT.has(reason) : OF_CLUSTER.has(reason);

export const endableOf = (object: ProbeJob, key: JobKey, account?: number): Endable => ({
  id: idOf(object),
  key,
  account,
  namespace: object.metadata.namespace ?? '',
  uid: object.metadata.uid ?? '',
  resourceVersion: object.metadata.resourceVersion ?? '',
  submittedAt: submittedAtOf(object),
  ttlSeconds: object.spec.ttlSecondsAfterFinished,
  attempt: 0,
  status: object.status,
});

export const endOf = ({ status, reason, message }: Refusal): End => ({ status, reason, error: message });

export const CANCELLED: End = { status: 499, reason: 'Cancelled', error: TEXTS.Cancelled };

/** Called when a collector has recorded the result. */
export function collected(state: TermState, notice: Closed): void {
  const job = state.jobs.taken(notice.job);
  if (!job || job.id !== notice.id) return;
  if (notice.attempt === job.attempt) void attemptEnded(state, job, notice);
  else void state.move(job, { is: 'outrun', end: notice });
}

/** Orders the runner of a running job to stop. */
export function stop(state: TermState, job: Job, event: EventOf<'ended' | 'gone'>): void {
  if (!job.runner) return;
  job.stopped = sendCancel(state.deps.bus, job.runner.uid, {
    epoch: state.deps.term.epoch,
    job: job.key,
    attempt: job.attempt,
    why: endBy(event).reason === 'DeadlineExceeded' ? 'deadline' : 'cancelled',
  });
}

const endBy = (event: EventOf<'ended' | 'gone'>): End => (event.is === 'ended' ? event.end : CANCELLED);

/** Records an end without a result. */
export async function recordEndOf(state: TermState, job: Job, event: EventOf<'ended' | 'gone'>): Promise<void> {
  const end = endBy(event);
  const used = await usedBefore(job.stopped);
  // Of a chunk, each request is tried once.
  const attempt = job.chunk ? Math.min(1, job.attempt) : job.attempt;
  const recorded = await endRequest(state.deps, { ...job, attempt }, { ...end, used }, state.deps.term.signal);
  await writeEnd(state, job, { end: recorded });
}

/** An answer takes some milliseconds: an end does not wait for a runner that is silent. */
const USED_WITHIN_MS = 250;

/** What the runner says that the job has cost until it was cancelled. */
export async function usedBefore(cancelled: Promise<Said> | undefined): Promise<RunnerUse | undefined> {
  if (!cancelled) return undefined;
  const said = await within(USED_WITHIN_MS, cancelled).catch(() => undefined);
  return said?.ok && isUse(said.used) ? said.used : undefined;
}

/**
 * The slot is released only after the status is written: an observer who counts running jobs with kubectl never sees
 * one too many.
 */
export async function writeEnd(state: TermState, job: Job, { end }: { end: JobEnd }): Promise<void> {
  await job.stopped;
  if (job.chunk) await returnRest(state, job, end.reason);
  // Each request of a chunk has an outcome of its own.
  const judged = job.chunk ? undefined : job.policy;
  const policy = end.policy ?? (judged && policyStatus(judged.name, judged.revision, 'unknown'));
  // A deleted object has no status to write, and another object may exist under its name.
  const done = job.gone
    ? undefined
    : await writeFinish(state.deps, job, { ...end, policy }, { later: !state.ledger.holds(job.key) });
  if (state.live) await state.move(job, { is: 'settled', end, done });
}

export function reportEnd({ deps }: TermState, job: Job, { end, done }: EventOf<'settled'>): void {
  deps.metrics.finished(job.pool, end.reason);
  deps.recent.jobEnded(end.reason);
  if (done) deps.finishedJobs.add(done);
}

export function releaseSlot(state: TermState, job: JobRecord): void {
  state.ledger.remove(job.key);
  state.scheduleAll(isResolved(job) ? job.account : undefined);
}

/** From the watch: the ProbeJob was deleted. For an unfinished job this means cancel. */
export function deleted(state: TermState, object: ProbeJob): void {
  const { uid } = object.metadata;
  if (!isOurs(object)) return;
  const key = state.served.keyOf(object);
  state.arrived.delete(key);
  state.deps.finishedJobs.forget(object);
  const record = state.jobs.get(key) ?? { key, state: 'none' };
  const job = state.jobs.taken(key);
  if (job && job.uid !== (uid ?? job.uid)) {
    if (job.successor?.metadata.uid === uid) job.successor = undefined;
    const former: JobRecord = { key, state: 'none' };
    if (!isFinished(object.status)) void state.alone(former, () => recordCancellation(state, former, { object }));
    return;
  }
  const isKnown = job !== undefined || ['suspended', 'intake', 'refused'].includes(record.state);
  if (isKnown || !isFinished(object.status)) void state.move(record, { is: 'gone', object });
}

export async function recordCancellation(
  { deps }: TermState,
  { key }: JobRecord,
  { object }: Pick<EventOf<'gone'>, 'object'>,
): Promise<void> {
  if (!object) return;
  await endRequest(deps, endableOf(object, key), CANCELLED, deps.term.signal);
  await returnItemsOf(deps, object, 'Cancelled');
}

/** A waiting job gets a condition only after this, so a job that starts promptly costs no extra write. */
const MARK_AFTER_MS = 1_000;

export function limitQueueTime(state: TermState, job: Job): void {
  const waited = state.deps.store.clock.now() - job.submittedAt.getTime();
  const left = Math.max(0, job.queueTimeoutMs - waited);
  const marked = job.status?.conditions !== undefined;
  later(state.deps.term, job, left, () => {
    if (job.state !== 'waiting') return;
    const why = whyWaiting(state.ledger, state.deps.pools, job);
    const error = `the request waited ${Math.round(job.queueTimeoutMs / 100) / 10} s in the queue: ${why.message}`;
    void state.move(job, { is: 'ended', end: { status: 429, reason: 'QueueTimeout', error } });
  });
  if (!marked) later(state.deps.term, job, Math.max(0, MARK_AFTER_MS - waited), () => void markWaiting(state, job));
}

/** Nobody knows which of them ran, and for how long: together no more than can run in the job's time. */
const ranAtMost = ({ assignment, timeoutMs }: Pick<Job, 'assignment' | 'timeoutMs'>, runs: number): number =>
  assignment.kind === 'compare' ? Math.round(timeoutMs * Math.min(1, COMPARED_AT_ONCE / runs)) : timeoutMs;

export function limitRunTime(state: TermState, job: Job): void {
  const clock = state.deps.store.clock.now();
  const left = (beganAt(job) ?? clock) + deadlineMs(job.timeoutMs) - clock;
  later(state.deps.term, job, Math.max(0, left), () => {
    const timedOut = runsFor(job.assignment.tools, job.assignment.other !== undefined);
    const end: End = {
      status: 200,
      reason: 'DeadlineExceeded',
      error: `the analysis did not end within ${job.timeoutMs} ms`,
      timedOut,
      ranMs: ranAtMost(job, timedOut.length),
    };
    void state.move(job, { is: 'ended', end });
  });
}

type Recordable = Pick<Job, 'id' | 'key' | 'submittedAt' | 'attempt' | 'status'>;

/** `account`: undefined for a job that was refused before its token was known. */
interface Endable extends Recordable, StatusTarget {
  account: number | undefined;
  ttlSeconds: number | undefined;
}

type RecordedTool = Pick<
  ResultBody['tools'][number],
  'name' | 'version' | 'side' | 'success' | 'durationMs' | 'usageMs'
>;

const PAUSES = { first: 50, longest: 2_000 };

export interface EndDeps extends Pick<ControllerDeps, 'store' | 'bus' | 'log'> {
  /** For callers that end many requests at once. */
  records?: Turns;
}

export const recordedEnd = (end: RecordedEnd): JobEnd => ({
  reason: end.reason,
  summary: end.error ?? (end.state === 'success' ? 'completed' : end.reason),
  tools: [],
  ...(end.policyOutcome === null
    ? {}
    : { policy: policyStatus(end.policyName, end.policyRevision, end.policyOutcome) }),
});

/** The result body for tools that timed out. */
const timeoutBody = (tools: readonly RecordedTool[], error: string, ioUsage: number): PackedBody =>
  packBody({
    tools: tools.map((tool) => ({ ...withoutResult(tool), ...tool, error, failure: 'timeout', format: 'json' })),
    ioUsage,
  });

/** Retries until Postgres answers or the term ends: without a record there is no end. */
export async function endRequest(
  { store, bus, log, records }: EndDeps,
  job: Recordable,
  end: End,
  signal: AbortSignal,
): Promise<JobEnd> {
  // No accepted request has such an id. There is no row, and the query would always fail.
  if (!isUuid(job.id)) return { reason: end.reason, summary: end.error, tools: [] };
  const named = requestFields({ id: job.id, job: job.key });
  const tools: RecordedTool[] = (end.timedOut ?? []).map(({ name, version, side }) => ({
    name,
    version,
    ...(side === undefined ? {} : { side }),
    success: false,
    durationMs: end.ranMs ?? 0,
    usageMs: end.ranMs ?? 0,
  }));
  const ioBytes = end.used?.bytes ?? 0;
  const body = end.timedOut ? timeoutBody(tools, end.error, ioBytes) : null;
  const asked: JobEnd = { reason: end.reason, summary: end.error, tools };
  const record = async (): Promise<JobEnd> => {
    const closing = await recordEnd(store, {
      id: job.id,
      submittedAt: job.submittedAt,
      state: 'error',
      status: end.status,
      reason: end.reason,
      error: end.error,
      attempt: job.attempt,
      startedAt: job.status?.startedAt ? new Date(job.status.startedAt) : null,
      tools,
      ...(end.used && !end.timedOut ? { usedMs: end.used.ms } : {}),
      ioBytes,
      decodedSeconds: end.used?.decodedSeconds,
      body: body?.packed ?? null,
      inflatedBytes: body?.size,
    });
    const { closed, waiter, queueTimeMs, refused } = closing;
    if (refused)
      log.error({ err: refused, ...named }, 'cannot record the end of a request, recording an internal error instead');
    if (!closed) {
      const [stands] = await store.endsFor([job.id]);
      return stands ? recordedEnd(stands) : asked;
    }
    const recorded = closing.end;
    log.info({ ...named, reason: recorded.reason, status: recorded.status }, 'request ended');
    if (waiter !== null) {
      const notice = endedNotice({ ...recorded, queueTimeMs, hasBody: recorded.body !== null }, recorded.body);
      bus.publish(SUBJECT.ended(waiter), notice);
    }
    return { reason: recorded.reason, summary: recorded.error ?? end.error, tools: recorded.tools };
  };
  return retry(() => (records ? records.run(record) : record()), {
    ...PAUSES,
    signal,
    onRetry: (error) => log.warn({ err: error, ...named }, 'cannot record the end of a request, will retry'),
  }).catch(() => asked);
}

/** Returns the finished object, or undefined if it no longer exists. */
export async function writeFinish(
  deps: TermStateDeps,
  job: Endable,
  finish: JobEnd,
  options: { later: boolean },
): Promise<ProbeJob | undefined> {
  const { term, store, kube, log, writes } = deps;
  const { signal } = term;
  const turn = { account: job.account, ...options };
  const shown = {
    ...finish,
    resultPath: resultPathOf(job),
    batch: deps.finishedJobs.nextBatch(job.namespace, { byHand: isByHand(job), ttlSeconds: job.ttlSeconds }),
  };
  if (hasEvent(job, finish.reason)) explain(deps.events, job, finish.reason, finish.summary);
  let { status, resourceVersion } = job;
  const wait = backoff(PAUSES);
  const write = async (): Promise<ProbeJob | undefined> => {
    await leaseSafe(term, 0);
    if (signal.aborted) return undefined;
    return writeStatus(kube, { ...job, resourceVersion }, finishedStatus(status, shown, stamp(store.clock.now())));
  };
  while (!signal.aborted) {
    try {
      return await writes.run(write, turn);
    } catch (error) {
      if (isKubeError(error, 'not-found')) return undefined;
      if (!isKubeError(error, 'conflict')) {
        const named = requestFields({ id: job.id, job: job.key });
        log.warn({ err: error, ...named }, 'cannot write the end of a job into its status, will retry');
        await pause(wait.next(), signal);
      }
    }
    const live = await readLive(deps, job, turn);
    if (live.is === 'gone') return undefined;
    if (live.is === 'finished') return live.object;
    if (live.is === 'open') {
      status = live.object.status;
      resourceVersion = live.object.metadata.resourceVersion ?? '';
    } else await pause(wait.next(), signal);
  }
  return undefined;
}
