/** Who uses most, for administrators: the users of the installation by their requests. */
import { call } from '../api/client.ts';
import { useAsked } from '../api/use_call.ts';
import { amountColumn, countColumn, Table, type Column } from '../parts/table.tsx';
import type { Range } from '../parts/filters.tsx';
import { bytes, count, milliseconds } from '../parts/figures.ts';
import { Await } from '../parts/states.tsx';
import { Stranger } from '../parts/values.tsx';
import { changed, hrefOf, usePlace } from '../router.ts';
import { bucketsOf } from './usage_figures.ts';

const MOST_USERS = 1_000;
/** Their ids stand in the address of a call. */
const IN_ONE_CALL = 200;
const SHOWN = 20;

interface Row {
  email: string;
  figures: Record<string, number>;
}

async function read(date: Range, signal: AbortSignal): Promise<{ rows: Row[]; users: number }> {
  const { users, pagination } = await call('GET user', { query: { pagination: { limit: MOST_USERS } }, signal });
  const parts = Array.from({ length: Math.ceil(users.length / IN_ONE_CALL) }, (_, part) =>
    users.slice(part * IN_ONE_CALL, (part + 1) * IN_ONE_CALL).map(({ id }) => id),
  );
  const answers = await Promise.all(
    parts.map((ids) =>
      call('GET statistics/usage', { query: { date, aggregation: 'no-aggregation', 'user-id': ids }, signal }),
    ),
  );
  const emails = new Map(users.map(({ id, email }) => [id, email]));
  const rows = bucketsOf(...answers).map(({ user, figures }) => ({ email: emails.get(user) ?? String(user), figures }));
  const requests = ({ figures }: Row): number => figures['request-count'] ?? 0;
  return { rows: rows.sort((a, b) => requests(b) - requests(a)), users: pagination.total };
}

function UserCell({ email }: Row) {
  const { path, query } = usePlace();
  return (
    <a href={hrefOf(path, changed(query, { user: email }))}>
      <Stranger text={email} most={60} />
    </a>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'User', show: (row) => <UserCell {...row} />, text: ({ email }) => email },
  countColumn('Requests', ({ figures }) => figures['request-count']),
  amountColumn('Processing time', ({ figures }) => figures['processing-time'], milliseconds),
  amountColumn('Data', ({ figures }) => figures['data-processed'], bytes),
];

export function UsageByUser({ date }: { date: Range }) {
  const asked = useAsked(`users ${JSON.stringify(date)}`, (signal) => read(date, signal));
  return (
    <section>
      <h2>Who uses most</h2>
      <Await asked={asked} what="the users">
        {({ rows, users }) => (
          <>
            <Table caption="By user" columns={COLUMNS} rows={rows.slice(0, SHOWN)} keyOf={({ email }) => email} />
            {users > MOST_USERS && (
              <p class="unit">
                Of the first {count(MOST_USERS)} of {count(users)} users.
              </p>
            )}
          </>
        )}
      </Await>
    </section>
  );
}
