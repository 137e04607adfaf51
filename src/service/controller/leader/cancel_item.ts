/**
 * The cancellation of one request of a chunk, which has no ProbeJob that could be deleted. What runs is stopped, and
 * its end recorded with its use; what waits is passed over; the chunk goes on. Of anything else the API records the
 * end.
 */
import type { CancelAnswer, ItemToCancel } from '../../../platform/bus/messages.ts';
import { chunkOf, placeInChunk } from '../../../platform/store/uuid.ts';
import { sendCancel } from '../pools/send_order.ts';
import { attemptEnded, LEASE_MARGIN_MS } from './chunk.ts';
import { CANCELLED, endRequest, usedBefore } from './ends.ts';
import { stateOf, type Job, type JobState } from './job.ts';
import type { JobEnd } from './job_status.ts';
import type { TermState } from './term_state.ts';

/** In others, the end of the chunk is decided. */
const STATES: readonly JobState[] = ['creating', 'waiting', 'admitting', 'running'];

export async function cancelItem(state: TermState, { id }: ItemToCancel): Promise<CancelAnswer> {
  const job = state.jobs.taken(chunkOf(id) ?? '');
  const place = placeInChunk(id);
  const isLeading = state.live && state.ready && state.deps.term.stillLeading(LEASE_MARGIN_MS);
  if (!isLeading || !job?.chunk || !STATES.includes(job.state)) return { ended: false };
  const { sources, cancelled } = job.chunk;
  if (place < Math.max(1, job.attempt) || place > sources.length) return { ended: false };
  if (!cancelled.has(place))
    cancelled.set(place, place === job.attempt ? stopped(state, job) : passedOver(state, job, id));
  await cancelled.get(place);
  return { ended: true };
}

const passedOver = ({ deps }: TermState, job: Job, id: string): Promise<JobEnd> =>
  endRequest(deps, { ...job, id, attempt: 0, status: undefined }, CANCELLED, deps.term.signal);

/** Its result may have been recorded before. */
function stopped(state: TermState, job: Job): Promise<JobEnd> {
  const { deps } = state;
  const { attempt, key, runner } = job;
  const order = { epoch: deps.term.epoch, job: key, attempt, why: 'cancelled' as const };
  job.stopped = runner && sendCancel(deps.bus, runner.uid, order);
  const request = { ...job, attempt: 1 };
  const end = usedBefore(job.stopped).then((used) =>
    endRequest(deps, request, { ...CANCELLED, used }, deps.term.signal),
  );
  void end.then((recorded) => {
    if (state.live && job.attempt === attempt && stateOf(job) === 'running') void attemptEnded(state, job, recorded);
  });
  return end;
}
