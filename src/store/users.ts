/** Users in the record. */
import type { Database } from './connection.ts';
import type { GivenToAccount } from './limits.ts';
import type { TokenRecord } from './records.ts';
import { jsonb } from './storable.ts';

export interface ShortUser {
  id: number;
  email: string;
  role: TokenRecord['role'];
  status: TokenRecord['userStatus'];
}

export interface UserRecord extends ShortUser {
  additionalEmails: string[];
  firstName: string;
  lastName: string;
  parentId: number | null;
  /** The topmost first. */
  parentIds: number[];
  rootId: number;
  parent: ShortUser | null;
  /** An account above is. */
  aboveSuspended: boolean;
  permissions: string[];
  restrictions: string[];
  createdAt: Date;
  updatedAt: Date;
}

export interface UserLimits extends GivenToAccount {
  monthlyQuota: unknown;
}

/** What an account may have at most, over all its users; and what it has as many of. */
export interface MostOfAccount {
  subUsers: number;
  tokens: number;
}
export type AccountFull = 'sub-users' | 'tokens';

export interface NewUser {
  email: string;
  firstName: string;
  lastName: string;
  status: TokenRecord['userStatus'];
  parentId: number;
  permissions: readonly string[];
  restrictions: readonly string[];
}

interface UserRow {
  id: number;
  email: string;
  additional_emails: string[];
  first_name: string;
  last_name: string;
  role: UserRecord['role'];
  status: UserRecord['status'];
  parent_id: number | null;
  parent_ids: string[];
  root_id: number;
  permissions: string[];
  restrictions: string[];
  created_at: Date;
  updated_at: Date;
  above_suspended: boolean;
  parent_email: string | null;
  parent_role: UserRecord['role'] | null;
  parent_status: UserRecord['status'] | null;
}

const SELECT = `select u.id, u.email, u.additional_emails, u.first_name, u.last_name, u.role, u.status, u.parent_id, u.parent_ids::text[], coalesce(u.root_id, u.id) root_id,
    u.permissions, u.restrictions, u.created_at, u.updated_at,
    exists (select from users a where a.status = 'suspended' and (a.id = any(u.parent_ids) or a.id = u.root_id)) above_suspended, p.email parent_email, p.role parent_role, p.status parent_status
  from users u left join users p on p.id = u.parent_id`;

const toUser = (row: UserRow): UserRecord => ({
  id: row.id,
  email: row.email,
  additionalEmails: row.additional_emails,
  firstName: row.first_name,
  lastName: row.last_name,
  role: row.role,
  status: row.status,
  parentId: row.parent_id,
  parentIds: row.parent_ids.map(Number),
  rootId: row.root_id,
  permissions: row.permissions,
  restrictions: row.restrictions,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  aboveSuspended: row.above_suspended,
  parent:
    row.parent_id === null
      ? null
      : { id: row.parent_id, email: row.parent_email!, role: row.parent_role!, status: row.parent_status! },
});

export const USER_SORTS = {
  id: 'u.id',
  username: 'lower(u.email)',
  email: 'lower(u.email)',
  status: 'u.status',
  created: 'u.created_at',
  updated: 'u.updated_at',
} as const;
export type UserSort = keyof typeof USER_SORTS;

/** Of whom: all, or those under one. */
export interface UserQuery {
  under: number | null;
  status: readonly string[];
  sort: { field: UserSort; order: 'asc' | 'desc' };
  offset: number;
  limit: number;
}

/** A column that is left out stays as it is. */
export interface UserChange {
  firstName?: string | undefined;
  lastName?: string | undefined;
  role?: UserRecord['role'] | undefined;
  status?: UserRecord['status'] | undefined;
  permissions?: readonly string[] | undefined;
  restrictions?: readonly string[] | undefined;
}

const WAITING_PASSWORD = `(select c.password_hash from account_codes c where c.user_id = u.id and c.purpose = 'verify' and c.used_at is null and u.status = 'pending' order by c.created_at desc limit 1)`;

const UNDER = '(u.id = $1 or u.parent_ids @> array[$1::bigint] or u.root_id = $1)';

export function userCalls(database: Database) {
  const one = async (rows: Promise<UserRow[]>): Promise<UserRecord | null> => {
    const [row] = await rows;
    return row ? toUser(row) : null;
  };
  return {
    /** The user and all accounts below. */
    async usersUnder(userId: number): Promise<number[]> {
      const rows = await database.rows<{ id: number }>({
        name: 'users_under',
        text: `select u.id from users u where ${UNDER} order by u.id`,
        values: [userId],
      });
      return rows.map(({ id }) => id);
    },

    /** Null too if `within` is given and the user is neither that one nor below it. */
    findUser: (id: number, within: number | null = null): Promise<UserRecord | null> =>
      one(
        database.rows<UserRow>({
          name: 'find_user',
          text: `${SELECT} where u.id = $2 and ($1::bigint is null or ${UNDER})`,
          values: [within, id],
        }),
      ),

    /**
     * With what a sign-in is checked against: while the account waits for its verification, the password of the latest
     * sign-up.
     */
    async findByEmail(email: string): Promise<{ user: UserRecord; passwordHash: string | null } | null> {
      const [row] = await database.rows<UserRow & { password_hash: string | null }>({
        name: 'find_by_email',
        text: `${SELECT.replace('select u.id', `select coalesce(u.password_hash, ${WAITING_PASSWORD}) password_hash, u.id`)} where lower(u.email) = lower($1)`,
        values: [email],
      });
      return row ? { user: toUser(row), passwordHash: row.password_hash } : null;
    },

    async passwordHash(userId: number): Promise<string | null> {
      const [row] = await database.rows<{ password_hash: string | null }>({
        name: 'password_hash',
        text: 'select password_hash from users where id = $1',
        values: [userId],
      });
      return row?.password_hash ?? null;
    },

    async setPassword(userId: number, hash: string): Promise<void> {
      await database.rows({
        name: 'set_password',
        text: 'update users set password_hash = $2, updated_at = now() where id = $1',
        values: [userId, hash],
      });
    },

    async listUsers({
      under,
      status,
      sort,
      offset,
      limit,
    }: UserQuery): Promise<{ users: UserRecord[]; total: number }> {
      const where = `($1::bigint is null or (${UNDER} and u.id <> $1)) and (cardinality($2::text[]) = 0 or u.status = any($2))`;
      const [[counted], rows] = await Promise.all([
        database.rows<{ total: number }>({
          name: 'count_users',
          text: `select count(*) total from users u where ${where}`,
          values: [under, status],
        }),
        database.rows<UserRow>({
          name: `list_users_${sort.field}_${sort.order}`,
          text: `${SELECT} where ${where} order by ${USER_SORTS[sort.field]} ${sort.order}, u.id ${sort.order} limit $3 offset $4`,
          values: [under, status, limit, offset],
        }),
      ]);
      return { users: rows.map(toUser), total: counted?.total ?? 0 };
    },

    /** A text where there is none: the account has as many as it may, or somebody has this address already. */
    async makeSubUser(user: NewUser, most: MostOfAccount): Promise<UserRecord | AccountFull | 'email-taken'> {
      const [row] = await database.rows<UserRow & { account_full: AccountFull | null }>({
        name: 'make_sub_user',
        text: `with room as (select account_full(coalesce(root_id, id), $8, $9) account_full from users where id = $5),
          made as (
            insert into users (email, first_name, last_name, role, status, parent_id, permissions, restrictions)
              select $1, $2, $3, 'sub', $4, $5, $6, $7 where (select account_full from room) is null
              on conflict (lower(email)) do nothing returning *)
          select room.account_full, shown.* from room left join (${SELECT.replace('from users u', 'from made u')}) shown on true`,
        values: [
          user.email,
          user.firstName,
          user.lastName,
          user.status,
          user.parentId,
          user.permissions,
          user.restrictions,
          most.subUsers,
          most.tokens,
        ],
      });
      if (row?.account_full) return row.account_full;
      return row && row.id !== null ? toUser(row) : 'email-taken';
    },

    changeUser: (id: number, change: UserChange): Promise<UserRecord | null> =>
      one(
        database.rows<UserRow>({
          name: 'change_user',
          text: `with changed as (
            update users set first_name = coalesce($2, first_name), last_name = coalesce($3, last_name), role = coalesce($4, role), status = coalesce($5, status),
              permissions = coalesce($6, permissions), restrictions = coalesce($7, restrictions), updated_at = now() where id = $1 returning *)
          ${SELECT.replace('from users u', 'from changed u')}`,
          values: [
            id,
            change.firstName ?? null,
            change.lastName ?? null,
            change.role ?? null,
            change.status ?? null,
            change.permissions ?? null,
            change.restrictions ?? null,
          ],
        }),
      ),

    async userLimits(id: number): Promise<UserLimits | null> {
      const [row] = await database.rows<{
        requests_per_minute: number | null;
        concurrency: number | null;
        queue_timeout_ms: number | null;
        file_bytes: number | null;
        account_concurrency: number | null;
        monthly_quota: unknown;
      }>({
        name: 'user_limits',
        text: 'select requests_per_minute, concurrency, queue_timeout_ms, file_bytes, account_concurrency, monthly_quota from users where id = $1',
        values: [id],
      });
      if (!row) return null;
      const {
        requests_per_minute: requestsPerMinute,
        queue_timeout_ms: queueTimeoutMs,
        file_bytes: fileBytes,
        account_concurrency: accountConcurrency,
      } = row;
      return {
        requestsPerMinute,
        concurrency: row.concurrency,
        queueTimeoutMs,
        fileBytes,
        accountConcurrency,
        monthlyQuota: row.monthly_quota,
      };
    },

    /** All of them: what is null is the installation's default again. */
    async setUserLimits(id: number, limits: UserLimits): Promise<void> {
      await database.rows({
        name: 'set_user_limits',
        text: 'update users set requests_per_minute = $2, concurrency = $3, queue_timeout_ms = $4, file_bytes = $5, monthly_quota = $6, account_concurrency = $7, updated_at = now() where id = $1',
        values: [
          id,
          limits.requestsPerMinute,
          limits.concurrency,
          limits.queueTimeoutMs,
          limits.fileBytes,
          jsonb(limits.monthlyQuota),
          limits.accountConcurrency,
        ],
      });
    },
  };
}
