/** Accounts in the record. */
import type { Database } from './connection.ts';

export function accountCalls(database: Database) {
  return {
    /** He himself and all accounts under his. */
    async usersUnder(userId: number): Promise<number[]> {
      const rows = await database.rows<{ id: number }>({ name: 'users_under', text: 'select id from users where id = $1 or parent_ids @> array[$1::bigint] or root_id = $1 order by id', values: [userId] });
      return rows.map(({ id }) => id);
    },
  };
}
