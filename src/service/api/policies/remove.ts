/** `DELETE /v1/policy/{name}`: a policy of the caller's account with all its revisions. */
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { paramOf, tokenOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { unknownPolicy } from './names.ts';
import { NAME_PARAM } from './read.ts';

async function remove({ store }: Deps, ctx: Context): Promise<void> {
  const { rootUserId } = tokenOf(ctx);
  const name = paramOf(ctx, 'name');
  const isText = /^[\x21-\x7e]{1,64}$/.test(name);
  if (isText && (await store.deletePolicy(rootUserId, name))) ctx.status = 204;
  else throw new ApiError('not-found', { text: `the policy ${await unknownPolicy(store, name, rootUserId)}` });
}

export const deletePolicy = endpoint(
  'DELETE /v1/policy/:name',
  {
    id: 'deletePolicy',
    tag: 'policy',
    summary: 'Delete a policy',
    description:
      'Requests that were accepted before are still judged by it, and their results go on naming its revision, which ' +
      '`GET /v1/policy/{name}?revision=` answers for as long as such a request is on record. ' +
      'A policy that is saved under the same name later gets other revision numbers.',
    params: NAME_PARAM,
    answer: { description: 'Deleted.' },
  },
  remove,
);
