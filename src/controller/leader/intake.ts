/** From a ProbeJob that the watch shows to a job that waits or runs; and runners that are prepared early. */
import { PREPARE_TTL_MS, type Early } from '../../bus/messages.ts';
import type { ProbeJob } from '../../kube/probe_job.ts';
import { requestFields } from '../../log.ts';
import type { TokenRecord } from '../../store/records.ts';
import { armDeadline, armQueue } from './deadlines.ts';
import { endRequest, writeFinish } from './end_write.ts';
import { CANCELLED, endableOf, endJob, endOf, objectGone } from './ends.ts';
import { Refusal, idOf, type Job } from './job.ts';
import { isAdmitted, isFinished } from '../../kube/conditions.ts';
import { isBeingDeleted } from './job_status.ts';
import { letGo, prepare, reserve } from './orders.ts';
import { activeToken, takeIn, type IntakeDeps } from './resolve_job.ts';
import { now, slotsOf, type TermState } from './term_state.ts';
import { TEXTS } from '../../result/texts.ts';

/** From the watch: a job that was made, or changed. */
export function seen(state: TermState, job: ProbeJob): void {
  // Until the term has its list; what came before that is in it, in its order.
  if (!state.listed) return;
  // Whoever wrote that, and whether its answer came back.
  if (isFinished(job.status)) state.deps.finishedJobs.add(job);
  const known = state.jobs.get(job.metadata.name);
  if (known) {
    // The one that we hold was deleted, and its end is not written yet: this one's turn comes then.
    if (known.uid !== job.metadata.uid) state.successors.set(job.metadata.name, job);
    else if (isBeingDeleted(job)) void endJob(state, known, CANCELLED);
    // Our own writes come back here; between them only foreign changes, which move the version on.
    else if (known.state === 'waiting') {
      known.resourceVersion = job.metadata.resourceVersion ?? known.resourceVersion;
      known.status = job.status;
      // The leader before us had ended it, and its write landed only now: the record has its end already, else it
      // gets one.
      if (isFinished(job.status)) void objectGone(state, known);
    }
    return;
  }
  if (!isFinished(job.status)) take(state, job);
}

export function take(state: TermState, job: ProbeJob): void {
  const name = job.metadata.name;
  if (state.taking.has(name) || state.jobs.has(name)) return;
  state.taking.add(name);
  holdSlot(state, job);
  // One after the other: the queue of a token is first in, first out by arrival, not by who was decrypted first.
  state.intakeChain = state.intakeChain.then(async () => {
    if (!state.live || !state.taking.has(name)) return;
    try {
      await admitToQueue(state, job);
    } catch (error) {
      if (!state.live) return;
      state.deps.log.error(
        { err: error, ...requestFields({ id: idOf(job), job: name }) },
        'cannot queue a job, will retry',
      );
      // It stays among those that are taken in: a runner that runs it must not be told to cancel.
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
  const early = state.early.get(name);
  clearTimeout(early?.timer);
  state.early.delete(name);
  let taken: { job: Job; token: TokenRecord };
  try {
    taken = early ? await takeEarly(state, early.job, object) : await takeIn(intakeDeps(state), object);
    // A notice during the awaits was for tokens with jobs, and this one may have had none: read again, in the same
    // turn as it is queued.
    if (!isAdmitted(object.status))
      taken.token = activeToken(await state.tokens.of(taken.job.token), state.deps.store.clock.now());
  } catch (error) {
    if (early) letGo(state, early.job, 'cancelled');
    if (!(error instanceof Refusal)) throw error;
    // Not in the way of those behind it: this waits for Postgres and for the API server.
    void refuse(state, object, error);
    return;
  }
  const { job, token } = taken;
  // Deleted while it was being taken in.
  if (!state.taking.has(name)) {
    letGo(state, job, 'cancelled');
    return;
  }
  state.jobs.set(job.key, job);
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
  if (state.ledger.waiting >= state.deps.maxQueued) {
    void endJob(state, job, {
      state: 'error',
      status: 429,
      reason: 'QueueFull',
      error: TEXTS.QueueFull,
    });
    return;
  }
  state.ledger.enqueue(job, slotsOf(token));
  armQueue(state, job);
  state.schedule(job.pool);
  // It was prepared because it would run at once; if it does not, the runner is another's.
  if (early)
    queueMicrotask(() => {
      if (job.state === 'waiting') letGo(state, job, 'cancelled');
    });
}

async function takeEarly(state: TermState, job: Job, object: ProbeJob): Promise<{ job: Job; token: TokenRecord }> {
  job.uid = object.metadata.uid ?? '';
  job.resourceVersion = object.metadata.resourceVersion ?? '';
  job.status = object.status;
  return { job, token: activeToken(await state.tokens.of(job.token), state.deps.store.clock.now()) };
}

function intakeDeps(state: TermState): IntakeDeps {
  const { intake, pools } = state.deps;
  return {
    ...intake,
    documents: state.documents,
    tokenOf: (id) => state.tokens.of(id),
    tools: () => pools.availableTools(),
    poolFor: (kind) => pools.forKind(kind),
  };
}

async function refuse(state: TermState, object: ProbeJob, refusal: Refusal): Promise<void> {
  const ended = endableOf(object);
  const recorded = await endRequest(state.deps, ended, endOf(refusal), state.deps.term.signal);
  await writeFinish(state.deps, ended, recorded, state.deps.term.signal);
  if (!state.live || state.jobs.has(ended.key)) return;
  state.ledger.remove(ended.key);
  state.scheduleAll();
}

/** The API is creating a job: a runner may be got ready meanwhile. Never an admission. */
export async function prepareEarly(state: TermState, { job: name, namespace, spec }: Early): Promise<void> {
  if (!state.ready || !state.live || state.jobs.has(name) || state.taking.has(name) || state.early.has(name)) return;
  const object: ProbeJob = { apiVersion: '', kind: 'ProbeJob', metadata: { name, namespace }, spec };
  if (!spec.token || !spec.source.sealed) return;
  try {
    const { job, token } = await takeIn(intakeDeps(state), object);
    if (state.jobs.has(name) || state.taking.has(name) || !state.ledger.wouldRun(job, slotsOf(token))) return;
    state.contenders = undefined;
    if (!reserve(state, job)) return;
    // The watch event is some milliseconds away; where it does not come, the runner must not stay reserved.
    const timer = setTimeout(() => {
      state.early.delete(name);
      letGo(state, job, 'cancelled');
    }, PREPARE_TTL_MS + 300);
    state.early.set(name, { job, timer, at: now() });
    prepare(state, job);
  } catch (error) {
    if (!(error instanceof Refusal))
      state.deps.log.debug(
        { err: error, ...requestFields({ id: idOf(object), job: name }) },
        'cannot prepare a runner early',
      );
  }
}

/**
 * From its status, before anything is asked: whatever is away, a job that runs counts for its token and its account.
 */
function holdSlot(state: TermState, job: ProbeJob): void {
  if (!isAdmitted(job.status)) return;
  const { admittedBy } = job.status ?? {};
  const token = job.spec.token?.id ?? admittedBy?.token ?? state.byHand?.id ?? 0;
  const account =
    admittedBy?.account ?? (state.byHand?.id === token ? state.byHand : state.tokens.known(token))?.rootUserId;
  // Of an older leader, and its token is gone: none of that token is admitted any more.
  if (account !== undefined) state.ledger.hold({ key: job.metadata.name, token, account, pool: '' });
}
