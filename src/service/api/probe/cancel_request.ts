/** `POST /v1/probe/{request_id}/cancel`: ends a request of the caller that is queued or running. */
import Type from 'typebox';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import { TEXTS } from '../../result/texts.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { tokenOf, uuidOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { deleteJob } from './cancel.ts';
import { AcceptedSchema } from './description/answers.ts';
import { recordOwnEnd } from './own_end.ts';

const CANCELLED = { status: 499, reason: 'Cancelled', error: TEXTS.Cancelled } as const;
const RETRIES = { first: 200, longest: 1_000, attempts: 3 };
/** Another replica may be creating the job at this moment. */
const CREATED_WITHIN_MS = 5_000;

/** A second call returns the response of the first. */
function checkEnd(reason: Reason | null): void {
  if (reason !== 'Cancelled') throw new ApiError('ended-already');
}

async function cancelRequest(deps: Deps, ctx: Context): Promise<void> {
  const { store, kube, settings, waiting } = deps;
  const id = uuidOf(ctx);
  const record = await store.readRequest(id, { userId: tokenOf(ctx).userId });
  if (!record) throw notFound();
  if (record.state === 'open') {
    const isNew = store.clock.now() - record.submittedAt.getTime() < CREATED_WITHIN_MS;
    const deleted = await deleteJob(kube, id, settings.namespace, { ...RETRIES, evenIfGone: isNew });
    if (!deleted) {
      checkEnd((await recordOwnEnd(store, record, CANCELLED)).reason);
      void waiting.lookNow();
    }
  } else checkEnd(record.reason);
  ctx.status = 202;
  ctx.body = { success: true, metadata: { request_id: id } };
}

export const cancelProbe = endpoint(
  'POST /v1/probe/:id/cancel',
  {
    id: 'cancelProbe',
    tag: 'probe',
    summary: 'Cancel a request',
    description:
      'The request ends with status 499, whether it is queued or runs; a result that arrives at the same moment ' +
      'may come first. A repeated call returns the same response.',
    params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
    input: 'ignored',
    also: [404],
    answer: { status: 202, description: 'The request is being cancelled, or was cancelled.', schema: AcceptedSchema },
    errors: { 409: 'The request has ended otherwise.' },
  },
  cancelRequest,
);
