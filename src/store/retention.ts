/**
 * What goes: envelopes and requests when their time has come, a user's data when it was asked for. Each call may be
 * made by any replica, at any time.
 */
import type { Database } from './connection.ts';

export interface Retention {
  envelopeDays: number;
  requestMonths: number;
}

/**
 * Longer than a turn of upkeep takes, shorter than the hour between two: what was said to go is known everywhere before
 * it goes.
 */
const SINCE_TTL_MS = 60_000;
/** Of ten minutes each: a backlog of two months is done in a day of turns. */
const MOST_STEPS = 500;
const MOST_ERASE_STEPS = 500;

export function retentionCalls(database: Database) {
  let since: { value: Promise<number>; until: number } | undefined;

  const readSince = async (): Promise<number> => {
    const [row] = await database.rows<{ ms: number }>({
      name: 'requests_since',
      text: `select case when v = '-infinity' then 0 else extract(epoch from v) * 1000 end::float8 ms
        from (select (value #>> '{}')::timestamptz v from settings where key = 'requests.since') s`,
      values: [],
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
    /** From here on (milliseconds since 1970) the requests are all there; older ones are gone, their figures stay. */
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

    /** Drops what is older; false: a turn was not enough, there is more. To be called hourly. */
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
     * A user and all accounts below are gone at once: accounts and tokens. Their requests, results, figures and hooks
     * go in steps, as many as `withinMs` allows now and the rest in upkeep. Whose data it is; empty: there is no such
     * user.
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

    /** Goes on with what was asked to go; how many users had something left. */
    async eraseMore(): Promise<number> {
      const users = await database.rows<{ user_id: number }>({
        name: 'erasures',
        text: 'select user_id from erasures order by asked_at',
        values: [],
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
