/** `DELETE user/{id}`: deletes the user, all accounts below, and all of their data. */
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id } from '../fields.ts';
import { findOwn } from './find.ts';

async function erase(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const target = await findOwn(deps, ctx, caller);
  if (target.id === caller.userId || target.role === 'root')
    throw new ApiError('own-account', { text: 'you cannot delete yourself or the root user' });
  if ((await deps.store.eraseUser(target.id)).length === 0) throw notFound();
  ctx.status = 204;
}

export const eraseUser = endpoint(
  'DELETE user/:id',
  {
    id: 'deleteUser',
    tag: 'users',
    summary: 'Delete a user and all of their data',
    params: { id: Id },
    description:
      'Deletes their sub-users, tokens, sessions, requests, results and statistics as well. Deleting large ' +
      'amounts continues in the background.',
    answer: { description: 'The accounts are deleted.' },
  },
  erase,
);
