/** API tokens, as their owners manage them. */
import type { Database } from './connection.ts';
import { assigned, column, listed, pageOf, type ChangeOf, type RecordOf } from './columns.ts';
import { LIMIT_COLUMNS } from './limits.ts';
import { named } from './named.ts';
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

const SELECT = `select ${listed(COLUMNS)} from tokens`;
const LIVE = 'revoked_at is null';

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

const MAKE_TOKEN = `
  with by_token as (select expires_at from tokens
    where id = :makerToken and ${LIVE} and (expires_at is null or expires_at > now()) for share),
  by_session as (select expires_at from sessions
    where id = :makerSession and ended_at is null and expires_at > now() for share),
  live as (select (:makerToken::bigint is null or exists (select from by_token))
    and (:makerSession::uuid is null or exists (select from by_session)) yes),
  room as (
    select account_full(coalesce(root_id, id), null, :mostOfAccount) account_full from users
      where id = :userId),
  made as (
    insert into tokens (id, user_id, name, sha256, sealed, webhook_secret, permissions, requests_per_minute,
      concurrency, queue_timeout_ms, file_bytes, cache_max_age_s, monthly_quota, expires_at, made_by, made_in)
      overriding system value select :id, :userId, :name, :sha256, :sealed, :webhookSecret, :permissions,
        :requestsPerMinute, :concurrency, :queueTimeoutMs, :fileBytes, :cacheMaxAgeS, :monthlyQuota,
        least(:expiresAt, (select expires_at from by_token), (select expires_at from by_session)),
        :makerToken, :makerSession
      where (select yes from live)
        and ((select count(*) from tokens
          where user_id = :userId and ${LIVE} and sha256 is not null
          and (expires_at is null or expires_at > now())) < :mostOfUser
            and (select account_full from room) is null
          or exists (select from tokens where id = :id))
      on conflict (id) do update set updated_at = now() returning id)
  select exists (select from made) made, (select yes from live) live,
    (select account_full from room) account_full`;

/** Reserves the id before the insert, because the sealed secrets are bound to it. */
export const nextTokenId = (database: Database): Promise<number> =>
  database.value({ name: 'next_token_id', text: `select nextval(pg_get_serial_sequence('tokens', 'id'))` });

/**
 * Locks the rows of the maker's credentials, so that none of them is revoked or shortened while the token is
 * written.
 */
export async function makeToken(
  database: Database,
  token: NewApiToken,
  most: { ofUser: number; ofAccount: number },
): Promise<'made' | 'too-many' | 'account-full' | 'maker-ended'> {
  const { madeBy } = token;
  const row = await database.one<{ made: boolean; live: boolean; account_full: string | null }>({
    name: 'make_token',
    ...named(MAKE_TOKEN, {
      ...token,
      monthlyQuota: jsonb(token.monthlyQuota),
      makerToken: madeBy.tokenId,
      makerSession: madeBy.sessionId,
      mostOfUser: most.ofUser,
      mostOfAccount: most.ofAccount,
    }),
  });
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
    from: 'tokens',
    where: `${LIVE} and ($1::bigint[] is null or user_id = any($1))`,
    values: [owners],
    order: `${TOKEN_SORTS[field]} ${order}, id ${order}`,
    offset,
    limit,
  });

/** Looks a token up by its id or by its hash. */
export function readToken(database: Database, by: { id: number } | { sha256: Buffer }): Promise<ApiTokenRecord | null> {
  const [name, field, value] = 'id' in by ? ['id', 'id', by.id] : ['sha', 'sha256', by.sha256];
  return database.first<ApiTokenRecord>({
    name: `read_token_${name}`,
    text: `${SELECT} where ${field} = $1 and ${LIVE}`,
    values: [value],
  });
}

export function changeToken(database: Database, id: number, change: ApiTokenChange): Promise<ApiTokenRecord | null> {
  const { monthlyQuota } = change;
  const stored = { ...change, monthlyQuota: monthlyQuota === undefined ? undefined : jsonb(monthlyQuota) };
  const { name, set, values } = assigned(SETTABLE, stored, 2);
  return database.first<ApiTokenRecord>({
    name: `change_token_${name}`,
    text: `update tokens set ${set}updated_at = now() where id = $1 and ${LIVE} returning ${listed(COLUMNS)}`,
    values: [id, ...values],
  });
}

export function revokeToken(database: Database, id: number): Promise<boolean> {
  return database.hasRow({
    name: 'revoke_token',
    text: `update tokens set revoked_at = now(), updated_at = now(), sealed = null
      where id = $1 and revoked_at is null returning id`,
    values: [id],
  });
}

/** The user's oldest token whose text can be shown. */
export function firstToken(database: Database, userId: number): Promise<ApiTokenRecord | null> {
  return database.first<ApiTokenRecord>({
    name: 'first_token',
    text: `${SELECT} where user_id = $1 and ${LIVE} and sealed is not null
      and (expires_at is null or expires_at > now()) order by id limit 1`,
    values: [userId],
  });
}

export function tokensWithoutSecret(database: Database, limit: number): Promise<number[]> {
  return database.column<number>({
    name: 'tokens_without_secret',
    text: `select id from tokens where webhook_secret is null and ${LIVE} order by id limit $1`,
    values: [limit],
  });
}

/** Sets a missing secret, and returns the one that the token then has: two replicas may both have made one. */
export function giveWebhookSecret(database: Database, id: number, sealed: Buffer): Promise<Buffer | null> {
  return database.valueOrNull<Buffer>({
    name: 'give_webhook_secret',
    text: `update tokens set webhook_secret = coalesce(webhook_secret, $2) where id = $1
      returning webhook_secret`,
    values: [id, sealed],
  });
}

/**
 * The users of these tokens, for filters that name them. Includes revoked tokens, because their requests remain in
 * the log.
 */
export async function tokenOwners(database: Database, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await database.rows<{ id: number; user_id: number }>({
    name: 'token_owners',
    text: 'select id, user_id from tokens where id = any($1)',
    values: [ids],
  });
  return new Map(rows.map((row) => [row.id, row.user_id]));
}
