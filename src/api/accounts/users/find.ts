/** The user in the path: one that the caller may see, may change, or may set limits of. */
import { mayChange } from '../../../accounts/authority.ts';
import { seesEveryone, type Caller } from '../../../accounts/caller.ts';
import type { UserRecord } from '../../../store/users.ts';
import { type Context, idOf } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';

export async function findSeen({ store }: Pick<Deps, 'store'>, ctx: Context, caller: Caller): Promise<UserRecord> {
  const user = await store.findUser(idOf(ctx), seesEveryone(caller) ? null : caller.userId);
  if (!user) throw notFound();
  return user;
}

export async function findOwn(deps: Pick<Deps, 'store'>, ctx: Context, caller: Caller): Promise<UserRecord> {
  const user = await findSeen(deps, ctx, caller);
  if (!mayChange(caller, user)) throw new ApiError('not-yours');
  return user;
}

/**
 * Whose limits the caller sets: those whom they may change, and never their own; the root user, whom nobody is above,
 * has them from themself.
 */
export async function findLimited(deps: Pick<Deps, 'store'>, ctx: Context, caller: Caller): Promise<UserRecord> {
  const user = await findOwn(deps, ctx, caller);
  if (user.id === caller.userId && caller.role !== 'root')
    throw new ApiError('own-account', { text: 'you cannot set your own limits' });
  return user;
}
