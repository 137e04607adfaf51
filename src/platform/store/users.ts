/** User records. */
import type { Sql } from 'sql-template-tag';
import type { Database, Queries } from './connection.ts';
import { asObject, assigned, column, pageOf, selected, type ChangeOf, type RecordOf } from './columns.ts';
import { ACCOUNT_COLUMNS } from './limits.ts';
import { query, raw, sql } from './query.ts';
import type { TokenRecord } from './records.ts';
import { jsonb } from './storable.ts';

const SHORT = {
  id: column<number>(),
  email: column<string>(),
  role: column<TokenRecord['role']>(),
  status: column<TokenRecord['userStatus']>(),
};
export type ShortUser = RecordOf<typeof SHORT>;

/** Of a user `u`, for people: the name, or the address of one who gave none. */
export const SHOWN_NAME = `coalesce(nullif(trim(concat_ws(' ', u.first_name, u.last_name)), ''), u.email)`;

/** Maximum numbers of an account, over all its users. AccountFull names the one that is reached. */
export interface MostOfAccount {
  subUsers: number;
  tokens: number;
}
export type AccountFull = 'sub-users' | 'tokens';

export interface NewUser extends Pick<UserRecord, 'email' | 'firstName' | 'lastName' | 'status'> {
  parentId: number;
  permissions: readonly string[];
  restrictions: readonly string[];
}

const ABOVE_SUSPENDED = `exists (
    select from users a where a.status = 'suspended' and (a.id = any(u.parent_ids) or a.id = u.root_id))`;
const COLUMNS = {
  ...SHORT,
  additionalEmails: column<string[]>(),
  firstName: column<string>(),
  lastName: column<string>(),
  parentId: column<number | null>(),
  /** Root user first. */
  parentIds: column<number[]>('to_jsonb(u.parent_ids)'),
  rootId: column<number>('coalesce(u.root_id, u.id)'),
  parent: column<ShortUser | null>(`case when p.id is not null then ${asObject(SHORT, 'p')} end`),
  /** An account above is suspended. */
  aboveSuspended: column<boolean>(ABOVE_SUSPENDED),
  permissions: column<string[]>(),
  restrictions: column<string[]>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
};
export type UserRecord = RecordOf<typeof COLUMNS>;

const CHANGEABLE = {
  firstName: COLUMNS.firstName,
  lastName: COLUMNS.lastName,
  role: COLUMNS.role,
  status: COLUMNS.status,
  permissions: column<readonly string[]>(),
  restrictions: column<readonly string[]>(),
};
export type UserChange = ChangeOf<typeof CHANGEABLE>;

const LIMITS = { ...ACCOUNT_COLUMNS, monthlyQuota: column<unknown>() };
export type UserLimits = RecordOf<typeof LIMITS>;
const LIMIT_COLUMNS = selected(LIMITS);

const JOINED = raw('u left join users p on p.id = u.parent_id');
const LISTED = selected(COLUMNS, 'u');
const SELECT = sql`select ${LISTED} from users ${JOINED}`;
/** After `with changed as (…)`. */
const SELECT_CHANGED = sql`select ${LISTED} from changed ${JOINED}`;

export const USER_SORTS = {
  id: 'u.id',
  username: 'lower(u.email)',
  email: 'lower(u.email)',
  status: 'u.status',
  created: 'u.created_at',
  updated: 'u.updated_at',
} as const;
export type UserSort = keyof typeof USER_SORTS;

/** `under`: only users below this one; null: all users. */
export interface UserQuery {
  under: number | null;
  status: readonly string[];
  /** Part of the e-mail address; null: all. */
  email: string | null;
  /** Empty: all. */
  ids: readonly number[];
  sort: { field: UserSort; order: 'asc' | 'desc' };
  offset: number;
  limit: number;
}

const WAITING_PASSWORD = `(
    select c.password_hash from account_codes c
      where c.user_id = u.id and c.purpose = 'verify' and c.used_at is null and u.status = 'pending'
      order by c.created_at desc limit 1)`;

/** Whoever signs in by an issuer has no password, or would still have one when the issuer lets them go. */
export const BY_ISSUER = `(u.role <> 'root' and exists (select from identities i where i.user_id = u.id))`;

const PASSWORD = raw(`case when not ${BY_ISSUER} then coalesce(u.password_hash, ${WAITING_PASSWORD}) end`);

const under = (id: number | null): Sql =>
  sql`(u.id = ${id} or u.parent_ids @> array[${id}::bigint] or u.root_id = ${id})`;

/** The ids of the user and of all accounts below. */
export const usersUnder = (database: Database, userId: number): Promise<number[]> =>
  database.column<number>(query('users_under')`select u.id from users u where ${under(userId)} order by u.id`);

/** Which of these exist, for filters that name them. */
export const knownUsers = (database: Database, ids: readonly number[]): Promise<number[]> =>
  database.column<number>(query('known_users')`select id from users where id = any(${ids})`);

/** Also null if `within` is given and the user is neither that user nor below it. */
export const findUser = (database: Database, id: number, within: number | null = null): Promise<UserRecord | null> =>
  database.first<UserRecord>(query('find_user')`
    ${SELECT} where u.id = ${id} and (${within}::bigint is null or ${under(within)})`);

/**
 * With the password hash that a sign-in is checked against. For an unverified account it is that of the latest
 * sign-up; for one of single sign-on there is none.
 */
export async function findByEmail(
  database: Database,
  email: string,
): Promise<{ user: UserRecord; passwordHash: string | null } | null> {
  const row = await database.first<UserRecord & { passwordHash: string | null }>(query('find_by_email')`
    select ${PASSWORD} "passwordHash", ${LISTED} from users ${JOINED}
      where lower(u.email) = lower(${email})`);
  if (!row) return null;
  const { passwordHash: hash, ...user } = row;
  return { user, passwordHash: hash };
}

export const passwordHash = (database: Queries, userId: number): Promise<string | null> =>
  database.valueOrNull<string>(query('password_hash')`select password_hash from users where id = ${userId}`);

export const setPassword = (database: Queries, userId: number, hash: string): Promise<void> =>
  database.run(
    query('set_password')`update users set password_hash = ${hash}, updated_at = now() where id = ${userId}`,
  );

export function listUsers(database: Database, { under: above, status, email, ids, sort, offset, limit }: UserQuery) {
  const { field, order } = sort;
  return pageOf<UserRecord>(database, 'users', {
    select: SELECT,
    from: raw('users u'),
    where: sql`
      (${above}::bigint is null or (${under(above)} and u.id <> ${above}))
        and (cardinality(${status}::text[]) = 0 or u.status = any(${status}))
        and (${email}::text is null or strpos(lower(u.email), lower(${email})) > 0)
        and (cardinality(${ids}::bigint[]) = 0 or u.id = any(${ids}))`,
    order: `${USER_SORTS[field]} ${order}, u.id ${order}`,
    offset,
    limit,
  });
}

/** Returns a text on refusal: the account has reached a maximum, or the address is in use. */
export async function makeSubUser(
  database: Database,
  user: NewUser,
  most: MostOfAccount,
): Promise<UserRecord | AccountFull | 'email-taken'> {
  const row = await database.first<UserRecord & { full: AccountFull | null }>(query('make_sub_user')`
    with room as (
      select account_full(coalesce(root_id, id), ${most.subUsers}, ${most.tokens}) full_of from users
        where id = ${user.parentId}),
    changed as (
      insert into users (email, first_name, last_name, role, status, parent_id, permissions, restrictions)
        select ${user.email}, ${user.firstName}, ${user.lastName}, 'sub', ${user.status}, ${user.parentId},
          ${user.permissions}, ${user.restrictions}
        where (select full_of from room) is null
        on conflict (lower(email)) do nothing returning *)
    select room.full_of "full", shown.* from room left join (${SELECT_CHANGED}) shown on true`);
  if (!row) return 'email-taken';
  const { full, ...made } = row;
  return full ?? (made.id === null ? 'email-taken' : made);
}

export function changeUser(database: Database, id: number, change: UserChange): Promise<UserRecord | null> {
  const { name, set } = assigned(CHANGEABLE, change);
  return database.first<UserRecord>(query(`change_user_${name}`)`
    with changed as (update users set ${set} where id = ${id} returning *) ${SELECT_CHANGED}`);
}

export const userLimits = (database: Database, id: number): Promise<UserLimits | null> =>
  database.first<UserLimits>(query('user_limits')`select ${LIMIT_COLUMNS} from users where id = ${id}`);

/** Sets all limits: null restores the installation's default. */
export function setUserLimits(database: Database, id: number, limits: UserLimits): Promise<void> {
  const { set } = assigned(LIMITS, { ...limits, monthlyQuota: jsonb(limits.monthlyQuota) });
  return database.run(query('set_user_limits')`update users set ${set} where id = ${id}`);
}

export type AccountLabels = Readonly<Record<string, string>>;

/** Of an account, which is its root user. */
export const accountLabels = async (database: Database, id: number): Promise<AccountLabels> =>
  (await database.valueOrNull<AccountLabels>(query('account_labels')`select labels from users where id = ${id}`)) ?? {};

/** The same, for a transaction that changes them. Null: there is no such user. */
export const holdLabels = (database: Database, id: number): Promise<AccountLabels | null> =>
  database.valueOrNull<AccountLabels>(query('hold_labels')`select labels from users where id = ${id} for update`);

export const setLabels = (database: Database, id: number, labels: AccountLabels): Promise<void> =>
  database.run(query('set_labels')`update users set labels = ${jsonb(labels)}, updated_at = now() where id = ${id}`);
