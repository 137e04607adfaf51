/** The users and tokens whose requests are queried. Those of other accounts get a 404, like those that do not exist. */
import type { Caller } from '../../accounts/caller.ts';
import type { Owners } from '../../../platform/store/statistics.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { visibleUsers } from '../http/access.ts';

const distinct = (ids: readonly number[]): number[] => [...new Set(ids)];

/** `byDefault`: the users if none are named. */
export async function ownersOf(
  deps: Pick<Deps, 'store'>,
  caller: Caller,
  asked: { userIds: readonly number[]; tokenIds: readonly number[] },
  byDefault: 'visible' | 'own',
): Promise<Owners> {
  const { store } = deps;
  const userIds = distinct(asked.userIds);
  const tokenIds = distinct(asked.tokenIds);
  const visible = await visibleUsers(deps, caller);
  const mayNot = (id: number) => visible !== null && !visible.includes(id);
  const [known, owners] = await Promise.all([
    visible === null && userIds.length > 0 ? store.knownUsers(userIds) : userIds,
    tokenIds.length > 0 ? store.tokenOwners(tokenIds) : new Map<number, number>(),
  ]);
  if (userIds.some(mayNot) || known.length < userIds.length) throw notFound();
  if (owners.size < tokenIds.length || [...owners.values()].some(mayNot)) throw notFound();

  if (tokenIds.length > 0) {
    const theirs = distinct([...owners.values()]);
    return { userIds: userIds.length > 0 ? theirs.filter((id) => userIds.includes(id)) : theirs, tokenIds };
  }
  if (userIds.length > 0) return { userIds, tokenIds: null };
  if (byDefault === 'own') return { userIds: visible ?? (await store.usersUnder(caller.userId)), tokenIds: null };
  return { userIds: visible ?? 'everyone', tokenIds: null };
}
