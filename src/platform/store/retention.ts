/**
 * Retention: deletes results and requests past their age, and a user's data on demand. Any replica may make each call
 * at any time.
 */
import type { Database } from './connection.ts';
import { calling } from './function_call.ts';
import { query } from './query.ts';
import { timeOf } from './uuid.ts';

interface Retention {
  envelopeDays: number;
  requestMonths: number;
  minuteDays: number;
}

/**
 * Cache time of `keptSince`. What will be dropped is announced one upkeep run (an hour) before, so every replica has
 * read the new limit by then.
 */
const SINCE_TTL_MS = 60_000;
/** One day of results each. */
const MOST_STEPS = 500;
const MOST_ERASE_STEPS = 500;

const sinceOf = new WeakMap<Database, { value: ReturnType<typeof readSince>; until: number }>();

async function readSince(database: Database) {
  const rows = await database.rows<{ key: string; ms: number }>(query('kept_since')`
    select key, (extract(epoch from greatest((value #>> '{}')::timestamptz, 'epoch')) * 1000)::float8 ms
      from settings where key in ('requests.since', 'rollup_minute.since')`);
  const of = (table: string) => rows.find(({ key }) => key === `${table}.since`)?.ms ?? 0;
  return { requests: of('requests'), minutes: of('rollup_minute') };
}

/** Whether there may be more to erase. */
const eraseStep = async (database: Database, user: number): Promise<boolean> =>
  (await database.value<number>(calling('erase_step', { user }))) > 0;

/**
 * Start of what is complete, in milliseconds since 1970. Older requests are deleted, and older figures by minute;
 * figures by hour and day remain.
 */
export function keptSince(database: Database): ReturnType<typeof readSince> {
  const now = performance.now();
  const known = sinceOf.get(database);
  if (known && known.until >= now) return known.value;
  const value = readSince(database);
  sinceOf.set(database, { value, until: now + SINCE_TTL_MS });
  value.catch(() => sinceOf.delete(database));
  return value;
}

/**
 * Deletes what is past its age, and returns how many months were dropped. To be called hourly. `done` false: the run
 * reached its limit of steps and more remains.
 */
export async function retain(
  database: Database,
  { envelopeDays, requestMonths, minuteDays }: Retention,
): Promise<{ done: boolean; months: number }> {
  let months = 0;
  for (const [table, age] of [
    ['requests', `${requestMonths} months`],
    ['batch_items', `${requestMonths} months`],
    ['rollup_minute', `${minuteDays} days`],
  ]) {
    months += await database.value<number>(
      query('drop_months')`select drop_months(${table}, now() - ${age}::interval)`,
    );
  }
  for (let step = 0; step < MOST_STEPS; step++) {
    const more = await database.value<boolean>(query('drop_envelopes')`
      select drop_envelopes(now() - make_interval(days => ${envelopeDays}))`);
    if (!more) return { done: true, months };
  }
  return { done: false, months };
}

/**
 * Deletes a user and all accounts below. Accounts and tokens are deleted at once; their requests, results, figures
 * and webhooks in steps, as many as fit into `withinMs`, the rest by upkeep. Returns the affected user ids; empty
 * if there is no such user.
 */
export async function eraseUser(database: Database, userId: number, { withinMs = 3_000 } = {}): Promise<number[]> {
  const gone = (await database.value<(string | number)[]>(calling('erase_user', { user: userId }))).map(Number);
  await eraseData(database, gone, { withinMs });
  return gone;
}

/** Of users that are erased: as much as fits into `withinMs`. */
export async function eraseData(
  database: Database,
  userIds: readonly number[],
  { withinMs = 3_000 } = {},
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (const id of userIds) while (performance.now() < deadline && (await eraseStep(database, id)));
}

/**
 * Erases result, source, options and error of one request of these users. `none`: there is no such request, or it
 * was erased before; `open`: it has not ended.
 */
export function eraseRequest(
  database: Database,
  id: string,
  userIds: readonly number[] | 'everyone',
): Promise<'erased' | 'open' | 'none'> {
  const users = userIds === 'everyone' ? null : userIds;
  return database.value(calling('erase_request', { id, submitted_at: timeOf(id), users }));
}

/** Continues pending erasures. Returns how many users had data left. */
export async function eraseMore(database: Database): Promise<number> {
  const users = await database.column<number>(query('erasures')`select user_id from erasures order by asked_at`);
  let found = 0;
  for (const id of users) {
    let steps = 0;
    while (steps < MOST_ERASE_STEPS && (await eraseStep(database, id))) steps++;
    if (steps > 0) found++;
  }
  return found;
}

/**
 * Creates the partitions of the coming days and months and returns how many were missing. To be called at start and
 * hourly, by any replica.
 */
export const ensurePartitions = (database: Database): Promise<number> => database.value(calling('ensure_partitions'));

/** Deletes idempotency keys after a day, and rate limits that have fully recovered. */
export async function forgetExpired(database: Database): Promise<void> {
  await database.run(query('forget_idempotency')`
    delete from idempotency where created_at < now() - interval '24 hours'`);
  await database.run(query('forget_rates')`delete from rate_limits where tat < now() - interval '1 hour'`);
}
