/**
 * Ends written by the API itself, where no controller can. The record only accepts the first end of a request, whoever
 * writes it.
 */
import type { Ended } from '../../../platform/bus/messages.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import type { Store } from '../../../platform/store/store.ts';
import { inside } from '../errors.ts';

export type EndStore = Pick<Store, 'closeRequest' | 'endsFor'>;

export interface OwnEnd {
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
