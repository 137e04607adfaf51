/** API tokens, as their owners manage them. */
import type { Database } from './connection.ts';
import { assigned, column, pageOf, selected, type ChangeOf, type RecordOf } from './columns.ts';
import { LIMIT_COLUMNS } from './limits.ts';
import { query, raw, sql } from './query.ts';
import { jsonb } from './storable.ts';

const COLUMNS = {
  id: column<number>(),
  userId: column<number>(),
  name: column<string>(),
  permissions: column<string[] | null>(),
  monthlyQuota: column<unknown>(),
  /** The sealed text of the token; null if it is not stored, so it cannot be shown. */
  sealed: column<Buffer | null>(),
  webhookSecret: column<Buffer | null>(),
  isDefault: column<boolean>(),
  ...LIMIT_COLUMNS,
  expiresAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
};
export type ApiTokenRecord = RecordOf<typeof COLUMNS>;

const SETTABLE = {
  ...LIMIT_COLUMNS,
  name: COLUMNS.name,
  sha256: column<Buffer>(),
  sealed: COLUMNS.sealed,
  webhookSecret: column<Buffer>(),
  permissions: column<readonly string[] | null>(),
  expiresAt: COLUMNS.expiresAt,
  monthlyQuota: COLUMNS.monthlyQuota,
};
export type ApiTokenChange = ChangeOf<typeof SETTABLE>;

const LISTED = selected(COLUMNS);
const SELECT = sql`select ${LISTED} from tokens`;
const LIVE = raw('revoked_at is null');

export interface NewApiToken extends RecordOf<typeof SETTABLE> {
  id: number;
  userId: number;
  /** The token expires with these credentials. */
  madeBy: Maker;
}

/** The credential that creates a token whose lifetime is bound to it: an API token, a JWT, or the JWT of a token. */
export interface Maker {
  tokenId: number | null;
  sessionId: string | null;
}

export const TOKEN_SORTS = { id: 'id', name: 'lower(name)', created: 'created_at', updated: 'updated_at' } as const;

/** Reserves the id before the insert, because the sealed secrets are bound to it. */
export const nextTokenId = (database: Database): Promise<number> =>
  database.value(query('next_token_id')`select nextval(pg_get_serial_sequence('tokens', 'id'))`);

/**
 * Locks the rows of the maker's credentials, so that none of them is revoked or shortened while the token is
 * written.
 */
export async function makeToken(
  database: Database,
  token: NewApiToken,
  most: { ofUser: number; ofAccount: number },
): Promise<'made' | 'too-many' | 'account-full' | 'maker-ended'> {
  const { id, userId, madeBy } = token;
  const row = await database.one<{ made: boolean; live: boolean; account_full: string | null }>(query('make_token')`
    with by_token as (select expires_at from tokens
      where id = ${madeBy.tokenId} and ${LIVE} and (expires_at is null or expires_at > now()) for share),
    by_session as (select expires_at from sessions
      where id = ${madeBy.sessionId} and ended_at is null and expires_at > now() for share),
    live as (select (${madeBy.tokenId}::bigint is null or exists (select from by_token))
      and (${madeBy.sessionId}::uuid is null or exists (select from by_session)) yes),
    room as (
      select account_full(coalesce(root_id, id), null, ${most.ofAccount}) account_full from users
        where id = ${userId}),
    made as (
      insert into tokens (id, user_id, name, sha256, sealed, webhook_secret, permissions, requests_per_minute,
        concurrency, queue_timeout_ms, file_bytes, cache_max_age_s, monthly_quota, expires_at, made_by, made_in)
        overriding system value select ${id}, ${userId}, ${token.name}, ${token.sha256}, ${token.sealed},
          ${token.webhookSecret}, ${token.permissions}, ${token.requestsPerMinute}, ${token.concurrency},
          ${token.queueTimeoutMs}, ${token.fileBytes}, ${token.cacheMaxAgeS}, ${jsonb(token.monthlyQuota)},
          least(${token.expiresAt}, (select expires_at from by_token), (select expires_at from by_session)),
          ${madeBy.tokenId}, ${madeBy.sessionId}
        where (select yes from live)
          and ((select count(*) from tokens
            where user_id = ${userId} and ${LIVE} and sha256 is not null
            and (expires_at is null or expires_at > now())) < ${most.ofUser}
              and (select account_full from room) is null
            or exists (select from tokens where id = ${id}))
        on conflict (id) do update set updated_at = now() returning id)
    select exists (select from made) made, (select yes from live) live,
      (select account_full from room) account_full`);
  if (row.made) return 'made';
  if (!row.live) return 'maker-ended';
  return row.account_full ? 'account-full' : 'too-many';
}

/** `owners`: null means all users. */
export interface ApiTokenQuery {
  owners: readonly number[] | null;
  sort: { field: keyof typeof TOKEN_SORTS; order: 'asc' | 'desc' };
  offset: number;
  limit: number;
}

export const listTokens = (database: Database, { owners, sort: { field, order }, offset, limit }: ApiTokenQuery) =>
  pageOf<ApiTokenRecord>(database, 'tokens', {
    select: SELECT,
    from: raw('tokens'),
    where: sql`${LIVE} and (${owners}::bigint[] is null or user_id = any(${owners}))`,
    order: `${TOKEN_SORTS[field]} ${order}, id ${order}`,
    offset,
    limit,
  });

/** Looks a token up by its id or by its hash. */
export const readToken = (
  database: Database,
  by: { id: number } | { sha256: Buffer },
): Promise<ApiTokenRecord | null> =>
  database.first<ApiTokenRecord>(
    'id' in by
      ? query('read_token_id')`${SELECT} where id = ${by.id} and ${LIVE}`
      : query('read_token_sha')`${SELECT} where sha256 = ${by.sha256} and ${LIVE}`,
  );

export function changeToken(database: Database, id: number, change: ApiTokenChange): Promise<ApiTokenRecord | null> {
  const { monthlyQuota } = change;
  const stored = { ...change, monthlyQuota: monthlyQuota === undefined ? undefined : jsonb(monthlyQuota) };
  const { name, set } = assigned(SETTABLE, stored);
  return database.first<ApiTokenRecord>(query(`change_token_${name}`)`
    update tokens set ${set} where id = ${id} and ${LIVE} returning ${LISTED}`);
}

export const revokeToken = (database: Database, id: number): Promise<boolean> =>
  database.hasRow(query('revoke_token')`
    update tokens set revoked_at = now(), updated_at = now(), sealed = null
      where id = ${id} and revoked_at is null returning id`);

/** The user's oldest token whose text can be shown. */
export const firstToken = (database: Database, userId: number): Promise<ApiTokenRecord | null> =>
  database.first<ApiTokenRecord>(query('first_token')`
    ${SELECT} where user_id = ${userId} and ${LIVE} and sealed is not null
      and (expires_at is null or expires_at > now()) order by id limit 1`);

export const tokensWithoutSecret = (database: Database, limit: number): Promise<number[]> =>
  database.column<number>(query('tokens_without_secret')`
    select id from tokens where webhook_secret is null and ${LIVE} order by id limit ${limit}`);

/** Sets a missing secret, and returns the one that the token then has: two replicas may both have made one. */
export const giveWebhookSecret = (database: Database, id: number, sealed: Buffer): Promise<Buffer | null> =>
  database.valueOrNull<Buffer>(query('give_webhook_secret')`
    update tokens set webhook_secret = coalesce(webhook_secret, ${sealed}) where id = ${id}
      returning webhook_secret`);

/**
 * The users of these tokens, for filters that name them. Includes revoked tokens, because their requests remain in
 * the log.
 */
export async function tokenOwners(database: Database, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await database.rows<{ id: number; user_id: number }>(query('token_owners')`
    select id, user_id from tokens where id = any(${ids})`);
  return new Map(rows.map((row) => [row.id, row.user_id]));
}
