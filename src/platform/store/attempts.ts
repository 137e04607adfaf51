/** Attempt limits that hold across all replicas. */
import type { Database } from './connection.ts';
import { calling } from './function_call.ts';
import { query } from './query.ts';

export interface AttemptLimit {
  burst: number;
  everyMs: number;
}

/** Milliseconds to wait; 0 if the attempt is allowed. */
export const takeAttempt = (
  database: Database,
  scope: string,
  key: Buffer,
  { everyMs, burst }: AttemptLimit,
): Promise<number> => database.value(calling('take_attempt', { scope, key, every_ms: everyMs, burst }));

export const giveBackAttempt = (
  database: Database,
  scope: string,
  key: Buffer,
  { everyMs }: AttemptLimit,
): Promise<void> =>
  database.run(query('give_back_attempt')`
    update attempts set tat = tat - make_interval(secs => ${everyMs} / 1000.0)
      where scope = ${scope} and key = ${key}`);

export const forgetAttempts = (database: Database, scope: string, key: Buffer): Promise<void> =>
  database.run(query('forget_attempt')`delete from attempts where scope = ${scope} and key = ${key}`);
