/** Existing users and tokens, for filters that name them. */
import type { Database } from './connection.ts';

export function ownerCalls(database: Database) {
  return {
    async knownUsers(ids: readonly number[]): Promise<number[]> {
      const rows = await database.rows<{ id: number }>({
        name: 'known_users',
        text: 'select id from users where id = any($1)',
        values: [ids],
      });
      return rows.map(({ id }) => id);
    },

    /** Includes revoked tokens, because their requests remain in the log. */
    async tokenOwners(ids: readonly number[]): Promise<Map<number, number>> {
      const rows = await database.rows<{ id: number; user_id: number }>({
        name: 'token_owners',
        text: 'select id, user_id from tokens where id = any($1)',
        values: [ids],
      });
      return new Map(rows.map((row) => [row.id, row.user_id]));
    },
  };
}
