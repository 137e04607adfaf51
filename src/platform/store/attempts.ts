/** Attempt limits that hold across all replicas. */
import type { Database } from './connection.ts';

export interface AttemptLimit {
  burst: number;
  everyMs: number;
}

export function attemptCalls(database: Database) {
  return {
    /** Milliseconds to wait; 0 if the attempt is allowed. */
    async takeAttempt(scope: string, key: Buffer, limit: AttemptLimit): Promise<number> {
      const [row] = await database.rows<{ ms: number }>({
        name: 'take_attempt',
        text: 'select take_attempt($1, $2, $3, $4) ms',
        values: [scope, key, limit.everyMs, limit.burst],
      });
      return row?.ms ?? 0;
    },

    async giveBackAttempt(scope: string, key: Buffer, limit: AttemptLimit): Promise<void> {
      await database.rows({
        name: 'give_back_attempt',
        text: 'update attempts set tat = tat - make_interval(secs => $3 / 1000.0) where scope = $1 and key = $2',
        values: [scope, key, limit.everyMs],
      });
    },

    async forgetAttempts(scope: string, key: Buffer): Promise<void> {
      await database.rows({
        name: 'forget_attempt',
        text: 'delete from attempts where scope = $1 and key = $2',
        values: [scope, key],
      });
    },
  };
}
