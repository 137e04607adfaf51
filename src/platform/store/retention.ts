/**
 * Retention: deletes results and requests past their age, and a user's data on demand. Any replica may make each call
 * at any time.
 */
import type { Database } from './connection.ts';
import { timeOf } from './uuid.ts';

export interface Retention {
  envelopeDays: number;
  requestMonths: number;
}

/**
 * Cache time of `requestsSince`. Requests are announced as deleted one upkeep run (an hour) before they are dropped, so
 * every replica has read the new limit by then.
 */
const SINCE_TTL_MS = 60_000;
/** Each step covers ten minutes: hourly runs clear a backlog of two months within a day. */
const MOST_STEPS = 500;
const MOST_ERASE_STEPS = 500;

export function retentionCalls(database: Database) {
  let since: { value: Promise<number>; until: number } | undefined;

  const readSince = async (): Promise<number> => {
    const [row] = await database.rows<{ ms: number }>({
      name: 'requests_since',
      text: `select case when v = '-infinity' then 0 else extract(epoch from v) * 1000 end::float8 ms
        from (select (value #>> '{}')::timestamptz v from settings where key = 'requests.since') s`,
    });
    return row?.ms ?? 0;
  };

  const eraseStep = async (userId: number): Promise<boolean> => {
    const [row] = await database.rows<{ n: number }>({
      name: 'erase_step',
      text: 'select erase_step($1) n',
      values: [userId],
    });
    return (row?.n ?? 0) > 0;
  };

  return {
    /** Start of the complete record (milliseconds since 1970). Older requests are deleted; their figures remain. */
    requestsSince(): Promise<number> {
      const now = performance.now();
      if (!since || since.until < now) {
        const value = readSince();
        since = { value, until: now + SINCE_TTL_MS };
        value.catch(() => {
          since = undefined;
        });
      }
      return since.value;
    },

    /**
     * Deletes what is past its age. To be called hourly. `done` false: the run reached its limit of steps and more
     * remains.
     */
    async retain({ envelopeDays, requestMonths }: Retention): Promise<{ done: boolean; months: number }> {
      const [row] = await database.rows<{ n: number }>({
        name: 'drop_requests',
        text: 'select drop_requests(now() - make_interval(months => $1)) n',
        values: [requestMonths],
      });
      for (let step = 0; step < MOST_STEPS; step++) {
        const [more] = await database.rows<{ more: boolean }>({
          name: 'drop_envelopes',
          text: 'select drop_envelopes(now() - make_interval(days => $1)) more',
          values: [envelopeDays],
        });
        if (!more?.more) return { done: true, months: row?.n ?? 0 };
      }
      return { done: false, months: row?.n ?? 0 };
    },

    /**
     * Deletes a user and all accounts below. Accounts and tokens are deleted at once; their requests, results, figures
     * and webhooks in steps, as many as fit into `withinMs`, the rest by upkeep. Returns the affected user ids; empty
     * if there is no such user.
     */
    async eraseUser(userId: number, { withinMs = 3_000 } = {}): Promise<number[]> {
      const [row] = await database.rows<{ gone: string[] | number[] }>({
        name: 'erase_user',
        text: 'select erase_user($1) gone',
        values: [userId],
      });
      const gone = (row?.gone ?? []).map(Number);
      const deadline = performance.now() + withinMs;
      for (const id of gone) while (performance.now() < deadline && (await eraseStep(id)));
      return gone;
    },

    /**
     * Erases result, source, options and error of one request of these users. `none`: there is no such request, or it
     * was erased before; `open`: it has not ended.
     */
    async eraseRequest(id: string, userIds: readonly number[] | 'everyone'): Promise<'erased' | 'open' | 'none'> {
      const [row] = await database.rows<{ outcome: 'erased' | 'open' | 'none' }>({
        name: 'erase_request',
        text: 'select erase_request($1, $2, $3) outcome',
        values: [id, timeOf(id), userIds === 'everyone' ? null : userIds],
      });
      return row?.outcome ?? 'none';
    },

    /** Continues pending erasures. Returns how many users had data left. */
    async eraseMore(): Promise<number> {
      const users = await database.rows<{ user_id: number }>({
        name: 'erasures',
        text: 'select user_id from erasures order by asked_at',
      });
      let found = 0;
      for (const { user_id: id } of users) {
        let steps = 0;
        while (steps < MOST_ERASE_STEPS && (await eraseStep(id))) steps++;
        if (steps > 0) found++;
      }
      return found;
    },
  };
}
