/**
 * Jobs that are created with their admission, which is one write of the API server less. The API opens a request in the
 * record and describes its ProbeJob to the leader. If the job can run at once, the leader creates it as admitted.
 * Otherwise, or if it does not answer in time, the API creates it, and the watch shows it to the leader.
 *
 * A job is named by its request id: of two creates, one finds the object of the other.
 */
import { CREATE_ANSWER_MS, type CreateAnswer } from '../../../platform/bus/messages.ts';
import { isKubeError, outcomeUnknown, PROBE_JOBS } from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { requestFields } from '../../../base/log.ts';
import { backoff, pause } from '../../../base/retry.ts';
import { admissionOf, isAdmittedBy, LEASE_MARGIN_MS } from './dispatch.ts';
import { seen } from './intake.ts';
import { Refusal, stateOf, type EventOf, type Job } from './job.ts';
import { ANSWER_MS, readLive, WRITE_MS } from './job_status.ts';
import { reserve } from './orders.ts';
import { activeToken, takeIn } from './resolve_job.ts';
import { now, slotsOf, type TermState, type TermStateDeps } from './term_state.ts';

const BY_API: CreateAnswer = { created: false };

/**
 * The API has opened a request. Answers as soon as it is known whether the leader has created its ProbeJob. At the end
 * of the term it leaves the job to the API, which would else wait for its time-out: if the next leader creates it, too,
 * one of both finds the object of the other.
 */
export async function announced(state: TermState, object: ProbeJob): Promise<CreateAnswer | undefined> {
  const { metadata, spec } = object;
  const { name } = metadata;
  if (metadata.namespace !== state.deps.namespace) return undefined;
  if (!state.live || !state.ready || state.jobs.get(name) || !spec.token || !spec.source.sealed) return BY_API;
  try {
    const { job } = await takeIn(state, object);
    // As in `resolveNow`: a change of the token during the awaits may have skipped it.
    const token = activeToken(await state.tokens.of(job.token), state.deps.store.clock.now());
    if (!state.ready || !state.live || state.jobs.get(name)) return BY_API;
    const slots = slotsOf(token);
    if (!state.ledger.wouldRun(job, slots)) return BY_API;
    state.contenders = undefined;
    if (!reserve(state, job)) return BY_API;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    void state.move({ key: name, state: 'none' }, { is: 'announced', job, slots, object, answer: resolve });
    return { created: await promise };
  } catch (error) {
    if (!(error instanceof Refusal))
      state.deps.log.debug(
        { err: error, ...requestFields({ id: name, job: name }) },
        'cannot resolve an announced job',
      );
    return BY_API;
  }
}

export async function create(state: TermState, job: Job, { object, answer }: EventOf<'announced'>): Promise<void> {
  const isWanted = (): boolean => state.live && stateOf(job) === 'creating';
  const made = await createAdmitted(state.deps, job, object, isWanted);
  // One that was deleted meanwhile is not created again.
  answer(made !== undefined || (state.live && !isWanted()));
  // Deleted meanwhile, or the term is over. If the object comes after all, the watch shows it.
  if (!isWanted()) return;
  const shown = job.successor;
  job.successor = undefined;
  if (made) {
    job.uid = made.metadata.uid ?? '';
    job.resourceVersion = made.metadata.resourceVersion ?? '';
    job.status = made.status;
  }
  void state.move(job, { is: made ? 'written' : 'dropped' });
  if (shown) seen(state, shown);
}

/** From the watch: created by the leader or by the API, which the answer to the leader's own create says. */
export function noteObject(_: TermState, job: Job, { object }: EventOf<'suspended' | 'resumed' | 'seen'>): void {
  job.successor = object;
}

const PAUSES = { first: 20, longest: 500 };

/**
 * The object with this admission. Undefined only if there certainly is none, because the slot is released then, or if
 * the job is not wanted any more.
 */
async function createAdmitted(
  deps: TermStateDeps,
  job: Job,
  object: ProbeJob,
  isWanted: () => boolean,
): Promise<ProbeJob | undefined> {
  const { term, kube, log, store, writes } = deps;
  const turn = { account: job.account };
  const ours = (found: ProbeJob | undefined): ProbeJob | undefined =>
    found && isAdmittedBy(term, { ...job, status: found.status }) ? found : undefined;
  let sent = 0;
  const send = async (): Promise<ProbeJob | undefined> => {
    // The API does not wait for it any more, and its job may have come and gone.
    const isLate = store.clock.now() - job.submittedAt.getTime() > CREATE_ANSWER_MS;
    // Or the write could land in the next term.
    if (!isWanted() || isLate || !term.stillLeading(LEASE_MARGIN_MS)) return undefined;
    sent = now();
    const bounds = { serverTimeoutMs: WRITE_MS, deadlineMs: ANSWER_MS };
    return kube.create(PROBE_JOBS, { ...object, status: admissionOf(deps, job) }, bounds);
  };
  try {
    return ours(await writes.run(send, turn));
  } catch (error) {
    // By the API.
    if (isKubeError(error, 'already-exists')) return undefined;
    log.warn({ err: error, ...requestFields({ id: job.id, job: job.key }) }, 'cannot create a job with its admission');
    if (!outcomeUnknown(error)) return undefined;
  }
  for (const wait = backoff(PAUSES); isWanted(); await pause(wait.next())) {
    const live = await readLive(deps, job, turn);
    if (live.is === 'open') return ours(live.object);
    // The server gives up by then: what is not there does not come any more.
    if (live.is === 'finished' || (live.is === 'gone' && now() - sent > ANSWER_MS)) return undefined;
  }
  return undefined;
}
