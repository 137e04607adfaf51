/** `DELETE media/log/{id}`: erases the stored data of one ended request before its retention ends. */
import Type from 'typebox';
import { requestFields } from '../../../base/log.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import { callerOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { visibleUsers } from '../http/access.ts';
import { endpoint } from '../http/endpoint.ts';
import { deleteJob } from '../probe/cancel.ts';

const ONCE = { first: 1, longest: 1, attempts: 1 };

async function erase(deps: Deps, ctx: Context): Promise<void> {
  const id = String((ctx['params'] as { id?: string }).id).toLowerCase();
  if (!isUuid(id)) throw notFound();
  const outcome = await deps.store.eraseRequest(id, (await visibleUsers(deps, callerOf(ctx))) ?? 'everyone');
  if (outcome === 'none') throw notFound();
  if (outcome === 'open') throw new ApiError('not-ended');
  // Its ProbeJob shows the source too. If this fails, the controller deletes the job a little later.
  await deleteJob(deps.kube, id, deps.settings.namespace, ONCE).catch((error: unknown) =>
    deps.log.warn({ err: error, ...requestFields({ id }) }, 'cannot delete the ProbeJob of an erased request'),
  );
  ctx.status = 204;
}

export const eraseLog = endpoint(
  'DELETE media/log/:id',
  {
    id: 'eraseLog',
    tag: 'log',
    summary: 'Erase a request of the log',
    description:
      'Deletes the result, the address, the options, the error and the webhook of an ended request. Its row stays in ' +
      'the log with times, states, user and token, and statistics do not change. This cannot be undone.',
    params: { id: Type.String({ format: 'uuid', description: 'The request id.' }) },
    answer: { status: 204, description: 'Erased.' },
    errors: {
      404: 'The caller has no such request, or it was erased before.',
      409: 'The request is queued or running.',
    },
  },
  erase,
);
