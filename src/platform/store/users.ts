/** User records. */
import type { Database } from './connection.ts';
import { asObject, assigned, column, listed, pageOf, type ChangeOf, type RecordOf } from './columns.ts';
import { ACCOUNT_COLUMNS } from './limits.ts';
import type { TokenRecord } from './records.ts';
import { named } from './named.ts';
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

const selectFrom = (table: string, more = ''): string =>
  `select ${more}${listed(COLUMNS, 'u')} from ${table} u left join users p on p.id = u.parent_id`;
const SELECT = selectFrom('users');

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

const PASSWORD = `case when not ${BY_ISSUER} then coalesce(u.password_hash, ${WAITING_PASSWORD}) end`;

const UNDER = '(u.id = $1 or u.parent_ids @> array[$1::bigint] or u.root_id = $1)';

const MAKE_SUB_USER = `
  with room as (
    select account_full(coalesce(root_id, id), :mostSubUsers, :mostTokens) full_of from users
      where id = :parentId),
  made as (
    insert into users (email, first_name, last_name, role, status, parent_id, permissions, restrictions)
      select :email, :firstName, :lastName, 'sub', :status, :parentId, :permissions, :restrictions
      where (select full_of from room) is null
      on conflict (lower(email)) do nothing returning *)
  select room.full_of "full", shown.* from room left join (${selectFrom('made')}) shown on true`;

/** The ids of the user and of all accounts below. */
export function usersUnder(database: Database, userId: number): Promise<number[]> {
  return database.column<number>({
    name: 'users_under',
    text: `select u.id from users u where ${UNDER} order by u.id`,
    values: [userId],
  });
}

/** Which of these exist, for filters that name them. */
export function knownUsers(database: Database, ids: readonly number[]): Promise<number[]> {
  return database.column<number>({
    name: 'known_users',
    text: 'select id from users where id = any($1)',
    values: [ids],
  });
}

/** Also null if `within` is given and the user is neither that user nor below it. */
export function findUser(database: Database, id: number, within: number | null = null): Promise<UserRecord | null> {
  return database.first<UserRecord>({
    name: 'find_user',
    text: `${SELECT} where u.id = $2 and ($1::bigint is null or ${UNDER})`,
    values: [within, id],
  });
}

/**
 * With the password hash that a sign-in is checked against. For an unverified account it is that of the latest
 * sign-up; for one of single sign-on there is none.
 */
export async function findByEmail(
  database: Database,
  email: string,
): Promise<{ user: UserRecord; passwordHash: string | null } | null> {
  const row = await database.first<UserRecord & { passwordHash: string | null }>({
    name: 'find_by_email',
    text: `${selectFrom('users', `${PASSWORD} "passwordHash", `)}
      where lower(u.email) = lower($1)`,
    values: [email],
  });
  if (!row) return null;
  const { passwordHash: hash, ...user } = row;
  return { user, passwordHash: hash };
}

export function passwordHash(database: Database, userId: number): Promise<string | null> {
  return database.valueOrNull<string>({
    name: 'password_hash',
    text: 'select password_hash from users where id = $1',
    values: [userId],
  });
}

export async function setPassword(database: Database, userId: number, hash: string): Promise<void> {
  await database.rows({
    name: 'set_password',
    text: 'update users set password_hash = $2, updated_at = now() where id = $1',
    values: [userId, hash],
  });
}

export function listUsers(database: Database, { under, status, email, ids, sort, offset, limit }: UserQuery) {
  const { field, order } = sort;
  return pageOf<UserRecord>(database, 'users', {
    select: SELECT,
    from: 'users u',
    where: `($1::bigint is null or (${UNDER} and u.id <> $1))
      and (cardinality($2::text[]) = 0 or u.status = any($2))
      and ($3::text is null or strpos(lower(u.email), lower($3)) > 0)
      and (cardinality($4::bigint[]) = 0 or u.id = any($4))`,
    values: [under, status, email, ids],
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
  const row = await database.first<UserRecord & { full: AccountFull | null }>({
    name: 'make_sub_user',
    ...named(MAKE_SUB_USER, { ...user, mostSubUsers: most.subUsers, mostTokens: most.tokens }),
  });
  if (!row) return 'email-taken';
  const { full, ...made } = row;
  return full ?? (made.id === null ? 'email-taken' : made);
}

export function changeUser(database: Database, id: number, change: UserChange): Promise<UserRecord | null> {
  const { name, set, values } = assigned(CHANGEABLE, change, 2);
  return database.first<UserRecord>({
    name: `change_user_${name}`,
    text: `with changed as (update users set ${set}updated_at = now() where id = $1 returning *)
        ${selectFrom('changed')}`,
    values: [id, ...values],
  });
}

export function userLimits(database: Database, id: number): Promise<UserLimits | null> {
  return database.first<UserLimits>({
    name: 'user_limits',
    text: `select ${listed(LIMITS)} from users where id = $1`,
    values: [id],
  });
}

/** Sets all limits: null restores the installation's default. */
export async function setUserLimits(database: Database, id: number, limits: UserLimits): Promise<void> {
  const { set, values } = assigned(LIMITS, { ...limits, monthlyQuota: jsonb(limits.monthlyQuota) }, 2);
  await database.rows({
    name: 'set_user_limits',
    text: `update users set ${set}updated_at = now() where id = $1`,
    values: [id, ...values],
  });
}

export type AccountLabels = Readonly<Record<string, string>>;

/** Of an account, which is its root user. */
export const accountLabels = async (database: Database, id: number): Promise<AccountLabels> =>
  (await database.valueOrNull<AccountLabels>({
    name: 'account_labels',
    text: 'select labels from users where id = $1',
    values: [id],
  })) ?? {};

/** The same, for a transaction that changes them. Null: there is no such user. */
export const holdLabels = (database: Database, id: number): Promise<AccountLabels | null> =>
  database.valueOrNull<AccountLabels>({
    name: 'hold_labels',
    text: 'select labels from users where id = $1 for update',
    values: [id],
  });

export async function setLabels(database: Database, id: number, labels: AccountLabels): Promise<void> {
  await database.rows({
    name: 'set_labels',
    text: 'update users set labels = $2, updated_at = now() where id = $1',
    values: [id, jsonb(labels)],
  });
}
