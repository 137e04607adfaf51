/** The user in the path, if the caller may see, change or limit that user. */
import { mayChange } from '../../../accounts/authority.ts';
import { seesEveryone, type Caller } from '../../../accounts/caller.ts';
import type { UserRecord } from '../../../../platform/store/users.ts';
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
 * Callers may set limits of users that they may change, but not their own. Only the root user, who has no account
 * above, may.
 */
export async function findLimited(deps: Pick<Deps, 'store'>, ctx: Context, caller: Caller): Promise<UserRecord> {
  const user = await findOwn(deps, ctx, caller);
  if (user.id === caller.userId && caller.role !== 'root')
    throw new ApiError('own-account', { text: 'you cannot set your own limits' });
  return user;
}
