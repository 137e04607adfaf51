/** Links to reports: of the secret in their address the hash alone is kept. */
import type { Maker } from './api_tokens.ts';
import { column, selected, type RecordOf } from './columns.ts';
import type { Database } from './connection.ts';
import { HOLDER, holderOf } from './limits.ts';
import { query, raw, sql } from './query.ts';
import { SHOWN_NAME } from './users.ts';

const COLUMNS = {
  id: column<string>(),
  requestId: column<string>(),
  userId: column<number>(),
  createdAt: column<Date>(),
  expiresAt: column<Date>(),
};
export type ReportLink = RecordOf<typeof COLUMNS>;
const LISTED = selected(COLUMNS, 'l');
const WITH_MAKER = sql`${LISTED}, ${selected(HOLDER, 'u')}, ${raw(SHOWN_NAME)} as name`;

export interface NewReportLink extends ReportLink {
  sha256: Buffer;
  /** The credential that it ends with. Both null: it was made by a person who signed in. */
  madeBy: Maker;
}

/** Locks the rows of the maker's credentials, so that none of them ends while the link is written. */
export async function makeReportLink(
  database: Database,
  { id, sha256, requestId, userId, createdAt, expiresAt, madeBy: { tokenId, sessionId } }: NewReportLink,
  most: number,
): Promise<'made' | 'too-many' | 'maker-ended'> {
  const { made, live } = await database.one<{ made: boolean; live: boolean }>(query('make_report_link')`
    with by_token as (select from tokens where id = ${tokenId} and revoked_at is null for share),
    by_session as (select from sessions where id = ${sessionId} and ended_at is null for share),
    live as (select coalesce(root_id, id) root_id from users where id = ${userId}
      and (${tokenId}::bigint is null or exists (select from by_token))
      and (${sessionId}::uuid is null or exists (select from by_session))),
    made as (
      insert into report_links (id, sha256, request_id, user_id, token_id, session_id, created_at, expires_at)
        select ${id}, ${sha256}, ${requestId}, ${userId}, ${tokenId}, ${sessionId}, ${createdAt}, ${expiresAt}
          from live where not report_links_full(root_id, ${most}) or exists (select from report_links where id = ${id})
        on conflict (id) do update set id = excluded.id returning id)
    select exists (select from made) made, exists (select from live) live`);
  if (made) return 'made';
  return live ? 'too-many' : 'maker-ended';
}

/** Null: there is no such link (any more). `maker`: as they are now. */
export async function readReportLink(database: Database, sha256: Buffer) {
  const row = await database.first<ReportLink & RecordOf<typeof HOLDER> & { name: string }>(query('read_report_link')`
    select ${WITH_MAKER} from report_links l join users u on u.id = l.user_id
      where l.sha256 = ${sha256} and l.expires_at > now()`);
  if (!row) return null;
  const { id, requestId, userId, createdAt, expiresAt, name } = row;
  const { rootUserId, userStatus: status, permissions } = holderOf({ ...row, ownPermissions: null });
  return { id, requestId, userId, createdAt, expiresAt, rootUserId, maker: { name, status, permissions } };
}

/** Made by these users, the newest first; null: by anyone. */
export const listReportLinks = (
  database: Database,
  userIds: readonly number[] | null,
  requestId: string | null,
): Promise<ReportLink[]> =>
  database.rows<ReportLink>(query('list_report_links')`
    select ${LISTED} from report_links l where l.expires_at > now()
      and (${userIds}::bigint[] is null or l.user_id = any(${userIds}))
      and (${requestId}::uuid is null or l.request_id = ${requestId})
      order by l.created_at desc, l.id limit 1000`);

/** Whether there was one. */
export const endReportLink = (database: Database, id: string, userIds: readonly number[] | null): Promise<boolean> =>
  database.hasRow(query('end_report_link')`
    delete from report_links where id = ${id} and (${userIds}::bigint[] is null or user_id = any(${userIds}))
      returning id`);
