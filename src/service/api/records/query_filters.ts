/** Filters of queries: whose requests, and of which time. */
import Type, { type Static } from 'typebox';
import type { Caller } from '../../accounts/caller.ts';
import type { Owners } from '../../../platform/store/statistics.ts';
import type { Deps } from '../deps.ts';
import { invalid, notFound } from '../errors.ts';
import { visibleUsers } from '../http/endpoint_access.ts';
import { options, orNull } from '../http/request_fields.ts';

const distinct = (ids: readonly number[]): number[] => [...new Set(ids)];

/** `byDefault`: the users if none are named. */
export async function ownersOf(
  deps: Pick<Deps, 'store'>,
  caller: Caller,
  asked: { 'user-id': readonly number[]; 'token-id'?: readonly number[] },
  byDefault: 'visible' | 'own',
): Promise<Owners> {
  const { store } = deps;
  const userIds = distinct(asked['user-id']);
  const tokenIds = distinct(asked['token-id'] ?? []);
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

// Time ranges in queries: `send[from]=2026-11-01T00:00:00Z`. `from` is included, `to` is not.

/**
 * RFC 3339, or a day in UTC. An unencoded plus arrives as a space. From 1970 to 8999, so that a month before or an hour
 * after is still a year that RFC 3339 can express.
 */
const DAY = String.raw`(19[7-9]\d|[2-8]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
const HOUR = String.raw`([01]\d|2[0-3])`;
const OF_DAY = String.raw`${HOUR}:[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+\- ]${HOUR}:[0-5]\d)`;
export const TIME = `^${DAY}([Tt ]${OF_DAY})?$`;

const time = (description: string) => orNull(Type.String({ pattern: TIME, default: null, description }));

export const timeRange = (description: string, from: string) =>
  options(
    {
      from: time(`Start, inclusive: RFC 3339, or a date. Default: ${from}.`),
      to: time('End, exclusive: RFC 3339, or a date. Default: now.'),
    },
    description,
  );
export type TimeRange = Static<ReturnType<typeof timeRange>>;

export function timeOf(text: string, field: string): Date {
  const day = Number(text.slice(8, 10));
  const days = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  const out = new Date(
    text.length === 10 ? `${text}T00:00:00Z` : `${text.slice(0, 10)}T${text.slice(11).replace(' ', '+').toUpperCase()}`,
  );
  if (day > days || Number.isNaN(out.getTime())) throw invalid(field, 'is not a valid date or time');
  return out;
}

export const timesOf = (field: string, { from, to }: TimeRange): { from: Date | null; to: Date | null } => ({
  from: from === null ? null : timeOf(from, `${field}.from`),
  to: to === null ? null : timeOf(to, `${field}.to`),
});
