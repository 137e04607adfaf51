/** `GET user/current` and `GET user/{id}`. */
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { inside } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id } from '../fields.ts';
import { ShownUser, shownUser } from '../shown_user.ts';
import { findSeen } from './find.ts';

async function readSelf({ store }: Deps, ctx: Context): Promise<void> {
  const user = await store.findUser(callerOf(ctx).userId);
  if (!user) throw inside('the calling user no longer exists');
  ctx.body = shownUser(user);
}

async function readOne(deps: Deps, ctx: Context): Promise<void> {
  ctx.body = shownUser(await findSeen(deps, ctx, callerOf(ctx)));
}

export const readCurrent = endpoint(
  'GET user/current',
  {
    id: 'readCurrentUser',
    tag: 'users',
    summary: 'Read your user',
    answer: { description: 'The caller.', schema: ShownUser },
  },
  readSelf,
);
export const readUser = endpoint(
  'GET user/:id',
  {
    id: 'readUser',
    tag: 'users',
    summary: 'Read a user',
    params: { id: Id },
    answer: { description: 'The user: yourself, a sub-user or, for an administrator, anyone.', schema: ShownUser },
  },
  readOne,
);
