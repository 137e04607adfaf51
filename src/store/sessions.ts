/** Sessions: each JWT is one, so that it can be seen and ended. */
import { ABOVE, type Above } from './chain.ts';
import type { Database } from './connection.ts';
import { effectivePermissions, effectiveStatus } from './limits.ts';
import type { TokenRecord } from './records.ts';

export interface NewSession {
  id: string;
  userId: number;
  /** Of the API token that asked for it. */
  tokenId: number | null;
  /** Null: all that the user may. */
  permissions: readonly string[] | null;
  remoteIp: string;
  userAgent: string;
  expiresAt: Date;
}

export interface SessionCaller extends Pick<TokenRecord, 'userId' | 'rootUserId' | 'role' | 'userStatus' | 'permissions'> { expiresAt: Date }

export interface SessionRecord { id: string; createdAt: Date; expiresAt: Date; remoteIp: string; userAgent: string }

interface CallerRow {
  user_id: number; role: TokenRecord['role']; status: TokenRecord['userStatus']; session_permissions: string[] | null;
  permissions: string[]; restrictions: string[]; above: Above[]; expires_at: Date;
}

export function sessionCalls(database: Database) {
  return {
    async openSession(session: NewSession): Promise<void> {
      await database.rows({
        name: 'open_session',
        text: `insert into sessions (id, user_id, token_id, permissions, remote_ip, user_agent, expires_at) values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
        values: [session.id, session.userId, session.tokenId, session.permissions, session.remoteIp, session.userAgent, session.expiresAt],
      });
    },

    /** Null: there is none that goes on, of this user. */
    async sessionCaller(id: string, userId: number): Promise<SessionCaller | null> {
      const [row] = await database.rows<CallerRow>({
        name: 'session_caller',
        text: `select s.user_id, u.role, u.status, s.permissions session_permissions, u.permissions, u.restrictions, ${ABOVE} above, s.expires_at
          from sessions s join users u on u.id = s.user_id left join tokens t on t.id = s.token_id
          where s.id = $1 and s.user_id = $2 and s.ended_at is null and s.expires_at > now()
            and (s.token_id is null or (t.revoked_at is null and (t.expires_at is null or t.expires_at > now())))`,
        values: [id, userId],
      });
      return row ? {
        userId: row.user_id, rootUserId: row.above[0]?.id ?? row.user_id, role: row.role, userStatus: effectiveStatus(row.status, row.above), expiresAt: row.expires_at,
        permissions: effectivePermissions(row.session_permissions, row.permissions, row.restrictions, row.above.map(({ permissions }) => permissions)),
      } : null;
    },

    async listSessions(userId: number, includeExpired: boolean): Promise<SessionRecord[]> {
      const rows = await database.rows<{ id: string; created_at: Date; ends_at: Date; remote_ip: string; user_agent: string }>({
        name: 'list_sessions',
        text: `select id, created_at, least(expires_at, ended_at) ends_at, remote_ip, user_agent from sessions
          where user_id = $1 and ($2 or (ended_at is null and expires_at > now())) order by created_at desc, id limit 1000`,
        values: [userId, includeExpired],
      });
      return rows.map((row) => ({ id: row.id, createdAt: row.created_at, expiresAt: row.ends_at, remoteIp: row.remote_ip, userAgent: row.user_agent }));
    },

    /** Whether there was one that went on. */
    async endSession(userId: number, id: string): Promise<boolean> {
      const rows = await database.rows({ name: 'end_session', text: 'update sessions set ended_at = now() where user_id = $1 and id = $2 and ended_at is null and expires_at > now() returning id', values: [userId, id] });
      return rows.length > 0;
    },

    async endSessions(userId: number, except: string | null = null): Promise<void> {
      await database.rows({ name: 'end_sessions', text: 'update sessions set ended_at = now() where user_id = $1 and ended_at is null and id is distinct from $2::uuid', values: [userId, except] });
    },
  };
}
