/** `PUT user/{id}/status`: suspends or reactivates a user and, with them, all accounts below. */
import Type from 'typebox';
import { STATUSES } from '../../../accounts/caller.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Id } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { ShownUser, shownUser } from '../shown_user.ts';
import { findOwn } from './find.ts';

const Body = Type.Object(
  {
    status: Type.Unsafe<(typeof STATUSES)[number]>({
      type: 'string',
      enum: [...STATUSES],
      description: 'The new status.',
    }),
  },
  { additionalProperties: false },
);

async function setStatus(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const target = await findOwn(deps, ctx, caller);
  if (target.id === caller.userId || target.role === 'root')
    throw new ApiError('own-account', { text: "you cannot change your own status or the root user's" });
  const user = await deps.store.changeUser(target.id, { status: checkedBy(Body, ctx).status });
  if (!user) throw notFound();
  ctx.body = shownUser(user);
}

export const userStatus = endpoint(
  'PUT user/:id/status',
  {
    id: 'setUserStatus',
    tag: 'users',
    summary: 'Suspend or reactivate a user',
    params: { id: Id },
    body: Body,
    description: 'Takes effect on every replica within a second.',
    answer: { description: 'The changed user.', schema: ShownUser },
  },
  setStatus,
);
