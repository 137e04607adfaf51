/**
 * Ends written by the API itself, where no controller can. The record only accepts the first end of a request, whoever
 * writes it.
 */
import type { Ended } from '../../../platform/bus/messages.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import type { Store } from '../../../platform/store/store.ts';
import { inside } from '../errors.ts';
import { isKubeError, PROBE_JOBS } from '../../../platform/kube/client.ts';
import { requestFields } from '../../../base/log.ts';
import { retry, type Pauses } from '../../../base/retry.ts';
import type { Deps } from '../deps.ts';

export type EndStore = Pick<Store, 'closeRequest' | 'endsFor'>;

interface OwnEnd {
  status: number;
  reason: Reason;
  error: string;
}

/** Returns the recorded end: this one, or an earlier one. */
export async function recordOwnEnd(
  store: EndStore,
  request: { id: string; submittedAt: Date },
  end: OwnEnd,
): Promise<Ended> {
  const { closed, queueTimeMs } = await store.closeRequest({
    ...request,
    state: 'error',
    ...end,
    attempt: 0,
    startedAt: null,
    tools: [],
    ioBytes: 0,
    body: null,
  });
  if (closed) return endedNotice({ id: request.id, ...end, queueTimeMs, hasBody: false });
  const [stands] = await store.endsFor([request.id]);
  if (!stands) throw inside('a request has neither an open row nor an end');
  return endedNotice(stands);
}

// Cancels the request of a caller who disconnected: the ProbeJob is deleted, and the leader ends what runs.

const RETRIES = { first: 400, longest: 4_000, attempts: 5 };

/** True: there was a job, and the leader closes its row. `evenIfGone`: a missing job is retried too. */
export async function deleteJob(
  kube: Pick<Deps['kube'], 'delete'>,
  id: string,
  namespace: string,
  { evenIfGone = false, ...retries }: Pauses & { attempts: number; evenIfGone?: boolean } = RETRIES,
): Promise<boolean> {
  const isGone = (error: unknown): boolean => isKubeError(error, 'not-found');
  try {
    await retry(() => kube.delete(PROBE_JOBS, id, { namespace, propagationPolicy: 'Background' }), {
      ...retries,
      when: (error) => evenIfGone || !isGone(error),
    });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/**
 * Never throws, because there is no caller to report to. What cannot be cancelled runs to its end, within its own time
 * limits.
 */
export async function cancel(
  { kube, store, log, settings }: Pick<Deps, 'kube' | 'store' | 'log' | 'settings'>,
  request: { id: string; submittedAt: Date },
): Promise<void> {
  try {
    const deleted = await deleteJob(kube, request.id, settings.namespace);
    if (!deleted)
      await recordOwnEnd(store, request, { status: 499, reason: 'Cancelled', error: 'the caller disconnected' });
  } catch (error) {
    log.warn(
      { err: error, ...requestFields({ id: request.id }) },
      'cannot cancel the request of a disconnected caller',
    );
  }
}
