/** Turns a ProbeJob from the watch into a waiting or running job. */
import { isKubeError } from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { isOurs } from '../../../platform/kube/resource.ts';
import { requestFields } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';
import { findItem, returnItemsOf } from './chunk.ts';
import { endRequest, writeFinish, CANCELLED, endableOf, endOf } from './ends.ts';
import { Refusal, idOf, type EventOf, type JobRecord } from './job.ts';
import { isAdmitted, isFinished, isTrue, stamp } from '../../../platform/kube/conditions.ts';
import { isBeingDeleted, suspendedStatus, writeStatus } from './job_status.ts';
import { ensureLeading } from './lease_guard.ts';
import { activeToken, takeIn } from './resolve_job.ts';
import { now, slotsOf, type TermState } from './term_state.ts';
import { queueShare } from '../../../base/limits.ts';
import { ACCOUNT_QUEUE_FULL, TEXTS } from '../../result/texts.ts';

/** From the watch: a job was created or changed. */
export function seen(state: TermState, object: ProbeJob): void {
  const { uid, resourceVersion } = object.metadata;
  const key = state.served.keyOf(object);
  // Until the listed jobs are taken in, in order, events wait: most of those objects are in the list.
  if (!isOurs(object)) return;
  if (!state.ready) state.arrived.set(key, object);
  if (!state.listed) return;
  // Finished by any writer, whether or not that write was acknowledged.
  if (isFinished(object.status)) state.deps.finishedJobs.add(object);
  const job = state.jobs.taken(key);
  if (!job) {
    if (!isFinished(object.status)) take(state, object);
    return;
  }
  // The known job was deleted and its end is not written yet. Its successor is taken in after that.
  if (job.uid !== uid) job.successor = object;
  else if (isBeingDeleted(object)) void state.move(job, { is: 'ended', end: CANCELLED });
  // Our own writes also arrive here. In between, only foreign writes change the version.
  else if (job.state === 'waiting') {
    job.resourceVersion = resourceVersion ?? job.resourceVersion;
    job.status = object.status;
    // The previous leader finished it, and that write landed only now. The record already has its end, or gets one
    // here.
    if (isFinished(object.status)) void state.move(job, { is: 'gone', object });
  }
}

export function take(state: TermState, object: ProbeJob): void {
  const key = state.served.keyOf(object);
  const record = state.jobs.get(key);
  const is = shownAs(object);
  // They are bounded like those that wait, because all of them are in etcd. One too many is refused at its intake.
  const isBeyond = is === 'suspended' && !record && state.jobs.suspended >= queueShare(state.deps.config.maxQueued);
  void state.move(record ?? { key, state: 'none' }, { is: isBeyond ? 'seen' : is, object });
}

/** One that runs is not suspended. */
function shownAs({ spec, status }: ProbeJob): 'suspended' | 'resumed' | 'seen' {
  if (isAdmitted(status)) return 'seen';
  if (spec.suspend) return 'suspended';
  return isTrue(status, 'Suspended') ? 'resumed' : 'seen';
}

const PAUSES = { first: 100, longest: 2_000 };

/**
 * Writes that a job is suspended, or is so no longer: the watch then shows it to be taken in. One that has changed
 * meanwhile is shown again, too.
 */
async function mark({ deps, served }: TermState, object: ProbeJob, resumed: boolean): Promise<void> {
  const { kube, term, writes, store, log } = deps;
  const job = endableOf(object, served.keyOf(object));
  const write = async (): Promise<void> => {
    await ensureLeading(term);
    const status = suspendedStatus(object.status, resumed, stamp(store.clock.now()));
    await writes.run(() => writeStatus(kube, job, status), { account: undefined, later: true });
  };
  const when = (error: unknown): boolean => !isKubeError(error, 'conflict', 'not-found');
  await retry(write, { ...PAUSES, signal: term.signal, when }).catch((error: unknown) =>
    log.debug({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'a suspended job is not marked'),
  );
}

export async function markSuspended(state: TermState, _: JobRecord, event: { object: ProbeJob }): Promise<void> {
  if (!isTrue(event.object.status, 'Suspended')) await mark(state, event.object, false);
}

export const markResumed = (state: TermState, _: JobRecord, event: { object: ProbeJob }): Promise<void> =>
  mark(state, event.object, true);

/** Stands for the token of jobs created by hand in the release's namespace. Real ids begin with 1. */
const BY_HAND = 0;

/** As far as it is known before the job is resolved. */
const accountOf = ({ served, tokens }: TermState, object: ProbeJob): number | undefined =>
  served.bindingOf(object)?.account ?? tokens.known(object.spec.token?.id ?? BY_HAND)?.rootUserId;

/** In order: a token's queue is first in, first out by arrival, not by the time that an intake takes. */
export function resolve(state: TermState, record: JobRecord, { object }: { object: ProbeJob }): void {
  const token = object.spec.token?.id ?? state.served.bindingOf(object)?.name ?? BY_HAND;
  const isCurrent = (): boolean => state.live && state.jobs.get(record.key) === record;
  state.intake.add(token, accountOf(state, object), async () => {
    if (!isCurrent()) return;
    try {
      await resolveNow(state, record, object);
    } catch (error) {
      if (!isCurrent()) return;
      // Its end is not awaited, because it waits for Postgres and the API server and would delay the jobs behind.
      if (error instanceof Refusal) return void state.move(record, { is: 'refused', object, refusal: error });
      const named = requestFields({ id: idOf(object), job: record.key });
      state.deps.log.error({ err: error, ...named }, 'cannot queue a job, will retry');
      void state.move(record, { is: 'failed', object });
    }
  });
}

const AGAIN_MS = 1_000;

export function resolveLater(state: TermState, record: JobRecord, event: { object: ProbeJob }): void {
  setTimeout(() => resolve(state, record, event), AGAIN_MS).unref();
}

async function resolveNow(state: TermState, record: JobRecord, object: ProbeJob): Promise<void> {
  const { job, token: found } = await takeIn(state, object);
  // A change notification during the awaits may have skipped this token, because it had no jobs yet. So its record is
  // read again, in the same turn that queues the job.
  const token = isAdmitted(object.status)
    ? found
    : activeToken(await state.tokens.of(job.token), state.deps.store.clock.now());
  // Deleted during intake.
  if (state.jobs.get(record.key) !== record) return;
  const slots = slotsOf(token);
  if (isAdmitted(object.status)) {
    await findItem(state, job);
    if (state.jobs.get(record.key) !== record) return;
    job.runner = object.status?.runner;
    job.goAt = now();
    void state.move(record, { is: 'found', job, slots });
    if (isBeingDeleted(object)) void state.move(job, { is: 'ended', end: CANCELLED });
    return;
  }
  if (isBeingDeleted(object)) return void state.move(record, { is: 'ended', job, end: CANCELLED });
  const full = whyFull(state, job.account);
  if (full === undefined) return void state.move(record, { is: 'queued', job, slots });
  void state.move(record, { is: 'ended', job, end: { status: 429, reason: 'QueueFull', error: full } });
}

/** The text of the limit that the queue has reached for jobs of this account. */
function whyFull({ ledger, deps }: TermState, account: number): string | undefined {
  const { maxQueued } = deps.config;
  if (ledger.waiting >= maxQueued) return TEXTS.QueueFull;
  return ledger.account(account).waiting >= queueShare(maxQueued) ? ACCOUNT_QUEUE_FULL : undefined;
}

export async function writeRefusal(
  state: TermState,
  record: JobRecord,
  { object, refusal }: EventOf<'refused'>,
): Promise<void> {
  const ended = endableOf(object, record.key, accountOf(state, object));
  const end = refusal.opened
    ? await endRequest(state.deps, ended, endOf(refusal), state.deps.term.signal)
    : { reason: refusal.reason, summary: refusal.message, tools: [] };
  await returnItemsOf(state.deps, object, end.reason);
  const done = await writeFinish(state.deps, ended, end, { later: true });
  if (state.live) await state.move(record, { is: 'settled', end, done });
}

/**
 * Counts the slot from the job's status alone, before any I/O: a running job always counts for its token and account.
 */
export function countSlot({ ledger }: TermState, { key }: JobRecord, { object }: EventOf<'seen'>): void {
  const { status } = object;
  const { token, account } = status?.admittedBy ?? {};
  if (isAdmitted(status) && token !== undefined && account !== undefined)
    ledger.hold({ key, token, account, pool: '' });
}
