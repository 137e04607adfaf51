/** Attempt limits that hold across all replicas. */
import type { Database } from './connection.ts';

export interface AttemptLimit {
  burst: number;
  everyMs: number;
}

/** Milliseconds to wait; 0 if the attempt is allowed. */
export async function takeAttempt(
  database: Database,
  scope: string,
  key: Buffer,
  limit: AttemptLimit,
): Promise<number> {
  const { ms } = await database.one<{ ms: number }>({
    name: 'take_attempt',
    text: 'select take_attempt($1, $2, $3, $4) ms',
    values: [scope, key, limit.everyMs, limit.burst],
  });
  return ms;
}

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
