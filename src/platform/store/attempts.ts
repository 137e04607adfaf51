/** Attempt limits that hold across all replicas. */
import type { Database } from './connection.ts';
import { calling } from './named.ts';

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

export async function giveBackAttempt(
  database: Database,
  scope: string,
  key: Buffer,
  limit: AttemptLimit,
): Promise<void> {
  await database.rows({
    name: 'give_back_attempt',
    text: 'update attempts set tat = tat - make_interval(secs => $3 / 1000.0) where scope = $1 and key = $2',
    values: [scope, key, limit.everyMs],
  });
}

export async function forgetAttempts(database: Database, scope: string, key: Buffer): Promise<void> {
  await database.rows({
    name: 'forget_attempt',
    text: 'delete from attempts where scope = $1 and key = $2',
    values: [scope, key],
  });
}
