/** The number of waiting requests, from the record: the API uses it to reject requests early when the queue is full. */
import type { Database } from './connection.ts';

// The index holds only open rows: 10,000 of them are counted in a few milliseconds. Requests within a token's
// concurrency do not count as waiting, even if they wait for a runner, so this number is never above the leader's.
const WAITING = `
  select coalesce(u.root_id, u.id, 0) account, sum(open.n - least(
      coalesce(t.concurrency, 2147483647), coalesce(u.concurrency, r.concurrency, $1)))::int waiting
    from (select token_id, count(*) n from requests where state = 'open' group by token_id) open
      left join tokens t on t.id = open.token_id left join users u on u.id = t.user_id
      left join users r on r.id = coalesce(u.root_id, u.id)
    where open.n > least(coalesce(t.concurrency, 2147483647), coalesce(u.concurrency, r.concurrency, $1))
    group by 1`;

export function queueCalls(database: Database, defaultConcurrency: number) {
  return {
    /** A lower bound of the number of waiting requests of each account that has some. */
    async waitingRequests(): Promise<Map<number, number>> {
      const rows = await database.rows<{ account: number; waiting: number }>({
        name: 'waiting_requests',
        text: WAITING,
        values: [defaultConcurrency],
      });
      return new Map(rows.map(({ account, waiting }) => [account, waiting]));
    },
  };
}
