/** Sessions: each JWT has a row, so it can be listed and revoked. */
import { HOLDER, type HolderRow, holderOf } from './limits.ts';
import { column, selected, type RecordOf } from './columns.ts';
import type { Database, Queries } from './connection.ts';
import { query, sql } from './query.ts';

export interface NewSession {
  id: string;
  userId: number;
  /** The API token it was created from. */
  tokenId: number | null;
  /** The session whose JWT created it. */
  parentId: string | null;
  /** Null: all permissions of the user. */
  permissions: readonly string[] | null;
  remoteIp: string;
  userAgent: string;
  expiresAt: Date;
}

const RECORD = {
  id: column<string>(),
  createdAt: column<Date>(),
  expiresAt: column<Date>('least(expires_at, ended_at)'),
  remoteIp: column<string>(),
  userAgent: column<string>(),
};
type SessionRecord = RecordOf<typeof RECORD>;
const LISTED = selected(RECORD);

const CALLER = {
  userId: column<number>(),
  ownPermissions: column<string[] | null>('s.permissions'),
  expiresAt: column<Date>(),
  tokenId: column<number | null>(),
  parentId: column<string | null>(),
};
const WITH_HOLDER = sql`${selected(CALLER, 's')}, ${selected(HOLDER, 'u')}`;

/** Maximum depth of JWTs created with JWTs. The table enforces it too. */
export const MOST_DEPTH = 10;

/** Locks the parent's row, so that it cannot be revoked while this one is written. */
export async function openSession(
  database: Database,
  session: NewSession,
): Promise<'opened' | 'parent-ended' | 'too-deep'> {
  const { id, userId, tokenId, parentId, permissions, remoteIp, userAgent, expiresAt } = session;
  const { opened, live } = await database.one<{ opened: boolean; live: boolean }>(query('open_session')`
    with parent as (select depth from sessions
      where id = ${parentId} and ended_at is null and expires_at > now() for share),
    made as (
      insert into sessions (id, user_id, token_id, permissions, remote_ip, user_agent, expires_at, parent_id, depth)
        select ${id}, ${userId}, ${tokenId}, ${permissions}, ${remoteIp}, ${userAgent}, ${expiresAt}, ${parentId},
          coalesce(depth + 1, 0)
        from (select 1) one left join parent on true where ${parentId}::uuid is null or depth < ${MOST_DEPTH}
          on conflict (id) do nothing returning id)
    select exists (select from made) or exists (select from sessions where id = ${id}) opened,
      ${parentId}::uuid is null or exists (select from parent) live`);
  if (opened) return 'opened';
  return live ? 'too-deep' : 'parent-ended';
}

/** Null if this user has no live session with this id. */
export async function sessionCaller(database: Database, id: string, userId: number) {
  const row = await database.first<RecordOf<typeof CALLER> & HolderRow>({
    ...query('session_caller')`
      select ${WITH_HOLDER} from sessions s join users u on u.id = s.user_id left join tokens t on t.id = s.token_id
        where s.id = ${id} and s.user_id = ${userId} and s.ended_at is null and s.expires_at > now()
          and (s.token_id is null or (t.revoked_at is null and (t.expires_at is null or t.expires_at > now())))`,
    held: true,
  });
  if (!row) return null;
  const { expiresAt, tokenId, parentId } = row;
  // Otherwise by a JWT that was created with another credential.
  const signedIn = tokenId === null && parentId === null;
  return { ...holderOf(row), expiresAt, tokenId, signedIn };
}

export const listSessions = (
  database: Database,
  userId: number,
  { includeExpired }: { includeExpired: boolean },
): Promise<SessionRecord[]> =>
  database.rows<SessionRecord>(query('list_sessions')`
    select ${LISTED} from sessions
      where user_id = ${userId} and (${includeExpired} or (ended_at is null and expires_at > now()))
      order by created_at desc, id limit 1000`);

/** Whether a live session was ended. */
export const endSession = (database: Database, userId: number, id: string): Promise<boolean> =>
  database.hasRow(query('end_session')`
    update sessions set ended_at = now()
      where user_id = ${userId} and id = ${id} and ended_at is null and expires_at > now() returning id`);

export const endSessions = (database: Queries, userId: number, except: string | null = null): Promise<void> =>
  database.run(query('end_sessions')`
    update sessions set ended_at = now() where user_id = ${userId} and ended_at is null
      and id is distinct from ${except}::uuid`);
