/** How many requests wait, from the record: for the API, which refuses early where the queue is full. */
import type { Database } from './connection.ts';

// The index of open rows holds nothing else: 10,000 of them are counted in some milliseconds. What a token may run at
// once is not waiting; what waits for a runner beside that is not counted, so this never says more than the leader
// would.
const WAITING = `
  select coalesce(sum(greatest(0,
    open.n - least(coalesce(t.concurrency, 2147483647), coalesce(u.concurrency, r.concurrency, $1)))), 0)::int waiting
    from (select token_id, count(*) n from requests where state = 'open' group by token_id) open
      left join tokens t on t.id = open.token_id left join users u on u.id = t.user_id
      left join users r on r.id = coalesce(u.root_id, u.id)`;

export function queueCalls(database: Database, defaultConcurrency: number) {
  return {
    /** At least so many wait. */
    async waitingRequests(): Promise<number> {
      const [row] = await database.rows<{ waiting: number }>({
        name: 'waiting_requests',
        text: WAITING,
        values: [defaultConcurrency],
      });
      return row?.waiting ?? 0;
    },
  };
}
