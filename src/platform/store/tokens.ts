/** Tokens with everything that the API and the leader need to know about them. */
import type { Database, Query } from './connection.ts';
import {
  ACCOUNT_COLUMNS,
  effectiveLimits,
  HOLDER,
  holderOf,
  LIMIT_COLUMNS,
  NO_GIVEN_LIMITS,
  type GivenLimits,
  type GivenToAccount,
  quotasOf,
} from './limits.ts';
import { asObject, column, selected, type RecordOf } from './columns.ts';
import { query, raw, sql } from './query.ts';
import type { DefaultLimits, Limits } from '../../base/limits.ts';
import type { MonthlyLimits, TokenRecord } from './records.ts';

const TOKEN = {
  id: column<number>(),
  userId: column<number>(),
  name: column<string>(),
  ownPermissions: column<string[] | null>('t.permissions'),
  expiresAt: column<Date | null>(),
  allow: column<TokenRecord['allow']>(),
  quota: column<MonthlyLimits | null>('t.monthly_quota'),
  limits: column<GivenLimits>(asObject(LIMIT_COLUMNS, 't')),
};
/** What a user's tokens are bound by. */
const USER = {
  userQuota: column<MonthlyLimits | null>('u.monthly_quota'),
  userLimits: column<GivenToAccount>(asObject(ACCOUNT_COLUMNS, 'u')),
  ...HOLDER,
};
type UserRow = RecordOf<typeof USER>;

const SELECT = sql`
  select ${selected(TOKEN, 't')}, ${selected(USER, 'u')} from tokens t join users u on u.id = t.user_id`;
const LIVE = raw('t.revoked_at is null');

export interface TokenDatabase extends Database {
  /** Of tokens and users that set none. */
  defaultLimits: DefaultLimits;
}

/** Of a query that begins with SELECT. */
async function tokensBy(database: TokenDatabase, selecting: Query): Promise<TokenRecord[]> {
  const rows = await database.rows<RecordOf<typeof TOKEN> & UserRow>(selecting);
  return rows.map((row) => ({
    id: row.id,
    ...holderOf(row),
    name: row.name,
    expiresAt: row.expiresAt,
    limits: effectiveLimits(row.limits, row.userLimits, row.above, database.defaultLimits),
    quotas: quotasOf({ token: row.quota, user: { id: row.userId, monthlyQuota: row.userQuota }, above: row.above }),
    allow: row.allow,
  }));
}

const tokenBy = async (database: TokenDatabase, selecting: Query): Promise<TokenRecord | null> =>
  (await tokensBy(database, selecting))[0] ?? null;

/**
 * Null: unknown or revoked. Expired tokens and those of suspended users are returned, because the caller answers
 * them differently.
 */
export const findToken = (database: TokenDatabase, sha256: Buffer) =>
  tokenBy(database, { ...query('find_token')`${SELECT} where ${LIVE} and t.sha256 = ${sha256}`, held: true });

/** The token of jobs created with kubectl. */
export const defaultToken = (database: TokenDatabase) =>
  tokenBy(database, query('default_token')`${SELECT} where ${LIVE} and t.is_default`);

/**
 * The token of jobs in a namespace that is bound to this account: the given one, if it is the account's; otherwise the
 * oldest of its root user that has not expired, and rather one that does not expire.
 */
export const tokenOfAccount = (database: TokenDatabase, account: number, token: number | null) =>
  tokenBy(
    database,
    query('token_of_account')`
      ${SELECT} where ${LIVE} and coalesce(u.root_id, u.id) = ${account}
        and (t.id = ${token} or ${token}::bigint is null and u.id = ${account} and coalesce(t.expires_at > now(), true))
        order by t.expires_at is not null, t.id limit 1`,
  );

/** Includes revoked tokens: their running jobs continue within the same limits. */
export const tokenEvenRevoked = (database: TokenDatabase, id: number) =>
  tokenBy(database, query('token_even_revoked')`${SELECT} where t.id = ${id}`);

const USER_LIMITS = { userLimits: USER.userLimits, above: USER.above };
const LIMITS_IN_FORCE = selected(USER_LIMITS);

/** The limits of a user's tokens that set none of their own. */
export async function userLimitsInForce(database: TokenDatabase, userId: number): Promise<Limits | null> {
  const row = await database.first<RecordOf<typeof USER_LIMITS>>(query('user_limits_in_force')`
    select ${LIMITS_IN_FORCE} from users u where u.id = ${userId}`);
  return row ? effectiveLimits(NO_GIVEN_LIMITS, row.userLimits, row.above, database.defaultLimits) : null;
}

/** The live tokens among these ids. Revoked ones are absent. */
export async function tokenLimits(database: TokenDatabase, ids: number[]): Promise<Map<number, TokenRecord>> {
  if (ids.length === 0) return new Map();
  const tokens = await tokensBy(database, query('token_limits')`${SELECT} where ${LIVE} and t.id = any(${ids})`);
  return new Map(tokens.map((token) => [token.id, token]));
}

/**
 * A lower bound of the number of waiting requests of each account that has some: the API uses it to reject
 * requests early when the queue is full.
 */
export async function waitingRequests(database: TokenDatabase): Promise<Map<number, number>> {
  const { concurrency } = database.defaultLimits;
  const most = sql`least(coalesce(t.concurrency, 2147483647), coalesce(u.concurrency, r.concurrency, ${concurrency}))`;
  // The index holds only open rows: 10,000 of them are counted in a few milliseconds. Requests within a token's
  // concurrency do not count as waiting, even if they wait for a runner, and of a chunk only the first one does. So
  // this number is never above the leader's.
  const rows = await database.rows<{ account: number; waiting: number }>(query('waiting_requests')`
    select coalesce(u.root_id, u.id, 0) account, sum(open.n - ${most})::int waiting
      from (select token_id, count(*) n from requests
          where state = 'open' and right(id::text, 2) collate "C" not between '02' and '7f' group by token_id) open
        left join tokens t on t.id = open.token_id left join users u on u.id = t.user_id
        left join users r on r.id = coalesce(u.root_id, u.id)
      where open.n > ${most} group by 1`);
  return new Map(rows.map(({ account, waiting }) => [account, waiting]));
}
