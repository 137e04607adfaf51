/** Sources: buckets of which each new version of an object is probed. */
import { call } from '../api/client.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { useRepeated } from '../api/use_call.ts';
import type { Source } from '../../api_types.ts';
import { count } from '../parts/figures.ts';
import { Await, Empty } from '../parts/states.tsx';
import { countColumn, statusColumn, strangerColumn, Table, timeColumn, type Column } from '../parts/table.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { LOOK_MS, Making, tokenChosen } from './batches.tsx';

/** More are not counted. */
const MOST_WAITING = 1_000;
export const waitingOf = ({ waiting }: Source): string =>
  waiting < MOST_WAITING ? count(waiting) : `${count(MOST_WAITING)} or more`;

const COLUMNS: readonly Column<Source>[] = [
  strangerColumn('Name', ({ name }) => name ?? '', {
    most: 80,
    none: 'without a name',
    to: ({ id }) => hrefOf(`/sources/${id}`, tokenChosen()),
  }),
  statusColumn('State', ({ state }) => state, { why: ({ text }) => text ?? undefined }),
  strangerColumn('Bucket', ({ url }) => url, { most: 120, wide: true }),
  timeColumn('Last listing', ({ last_listing: last }) => last?.at, {
    why: ({ last_listing: last }) => last?.error ?? undefined,
    none: 'none yet',
  }),
  timeColumn('Next listing', ({ next_listing_at: next }) => next ?? undefined, { none: 'none' }),
  countColumn('Objects', ({ objects }) => objects),
  { title: 'Waiting', text: waitingOf, right: true },
  { title: 'Id', text: ({ id }) => id, hidden: true },
];

function Listed({ token: { text: bearer } }: { token: HeldToken }) {
  const before = usePlace().query.get('page');
  const { asked } = useRepeated({
    key: `sources ${bearer} ${before}`,
    ask: (signal) => asToken(call('GET /v1/source', { query: { before }, bearer, signal })),
    everyMs: LOOK_MS,
  });
  return (
    <Await asked={asked} what="the sources">
      {({ sources, next }) => (
        <Table caption="Sources" columns={COLUMNS} rows={sources} keyOf={({ id }) => id} next={next}>
          <Empty title="There are no sources">
            <p>A source lists a bucket on a schedule, takes its events, and makes batches of what is new.</p>
          </Empty>
        </Table>
      )}
    </Await>
  );
}

export const Sources = () => <Making path="/sources/new" title="New source" list={Listed} />;
