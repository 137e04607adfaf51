/**
 * Ends that the API itself writes, where no controller can: the record lets only the first end of a request stand,
 * whoever writes it.
 */
import type { Ended } from '../../bus/messages.ts';
import type { Reason } from '../../kube/resources.ts';
import type { RecordedEnd } from '../../store/requests.ts';
import type { Deps } from '../deps.ts';
import { inside } from '../errors.ts';

export const endOf = (end: RecordedEnd): Ended => ({
  id: end.id,
  status: end.status,
  reason: end.reason,
  queueTimeMs: end.queueTimeMs,
  hasBody: end.hasBody,
  ...(end.inflatedBytes === null ? {} : { inflatedBytes: end.inflatedBytes }),
  ...(end.error === null ? {} : { error: end.error }),
});

export interface OwnEnd {
  status: number;
  reason: Reason;
  error: string;
}

/** Gives back the end that stands: this one, or the one that was there. */
export async function recordEnd(
  store: Pick<Deps['store'], 'closeRequest' | 'endsFor'>,
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
  if (closed)
    return { id: request.id, status: end.status, reason: end.reason, queueTimeMs, hasBody: false, error: end.error };
  const [stands] = await store.endsFor([request.id]);
  if (!stands) throw inside('a request has neither an open row nor an end');
  return endOf(stands);
}
