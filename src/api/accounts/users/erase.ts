/** `DELETE user/{id}`: the user, who stands under him, and all their data, gone everywhere. */
import { callerOf, type Handler } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id } from '../fields.ts';
import { findOwn } from './find.ts';

const eraseWork =
  (deps: Deps): Handler =>
  async (ctx) => {
    const caller = callerOf(ctx);
    const target = await findOwn(deps, ctx, caller);
    if (target.id === caller.userId || target.role === 'root')
      throw new ApiError('own-account', { text: 'you cannot delete yourself or the root user' });
    if ((await deps.store.eraseUser(target.id)).length === 0) throw notFound();
    ctx.status = 204;
  };

export const eraseUser = endpoint(
  'DELETE user/:id',
  {
    id: 'deleteUser',
    tag: 'users',
    summary: 'Delete a user and all his data',
    params: { id: Id },
    description:
      'With his sub-users, tokens, sessions, requests, results and figures. What cannot be undone at once goes on in the background.',
    answer: { description: 'The accounts are gone.' },
  },
  (deps) => [eraseWork(deps)],
);
