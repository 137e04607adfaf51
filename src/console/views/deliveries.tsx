/** Webhooks: what came of each attempt, and another one. */
import { call } from '../api/client.ts';
import type { Answer } from '../../api_calls.ts';
import { useCall } from '../api/use_call.ts';
import {
  codeColumn,
  statusColumn,
  strangerColumn,
  timeColumn,
  Table,
  useListing,
  type Column,
} from '../parts/table.tsx';
import { choices, FilterChoice, FilterText, oneOf } from '../parts/filters.tsx';
import { WorkButton } from '../parts/form.tsx';
import { joined, milliseconds, said } from '../parts/figures.ts';
import { Await, Empty } from '../parts/states.tsx';
import { Stranger, Time } from '../parts/values.tsx';
import { hrefOf, usePlace } from '../router.ts';

type Row = Answer<'GET media/webhook'>['webhooks'][number];
const STATES = ['pending', 'delivered', 'failed'] as const;

function Attempts({ attempts }: { attempts: Row['attempts'] }) {
  const last = attempts.at(-1);
  if (!last) return <span class="unit">none yet</span>;
  return (
    <details>
      <summary>
        {attempts.length}, the last: {last.status ?? 'no response'}
      </summary>
      <ol class="attempts">
        {attempts.map(({ time, status, error, duration }) => (
          <li key={time}>
            <Time iso={time} />:{' '}
            <Stranger
              text={joined(': ', [`${status ?? 'no response'} after ${said(milliseconds(duration))}`, error])}
            />
          </li>
        ))}
      </ol>
    </details>
  );
}

const columnsOf = (sendAgain: (row: Row) => Promise<void>): readonly Column<Row>[] => [
  timeColumn('Created', ({ created }) => created, { sort: 'created' }),
  statusColumn('State', ({ state }) => state, { sort: 'state' }),
  strangerColumn('Receiver', ({ url }) => url, { most: 100 }),
  {
    title: 'Attempts',
    show: ({ attempts }) => <Attempts attempts={attempts} />,
    text: ({ attempts }) => String(attempts.length),
  },
  timeColumn('Next', ({ next }) => next, { none: '–', sort: 'next' }),
  codeColumn('Request', ({ request }) => request, { to: ({ request }) => hrefOf(`/requests/${request}`) }),
  {
    title: 'Again',
    show: (row) => (
      <WorkButton work={() => sendAgain(row)} label={`Send again: ${row.id}`}>
        Send again
      </WorkButton>
    ),
    text: () => '',
  },
];

export function Deliveries() {
  const { query } = usePlace();
  const listing = useListing(['created', 'next', 'state'], 'created', 'desc');
  const request = query.get('request') ?? '';
  const asked = useCall('GET media/webhook', {
    query: { ...listing, state: oneOf(query.get('state'), STATES), request: request === '' ? null : request },
  });
  const sendAgain = async ({ id }: Row): Promise<void> => {
    await call('POST media/webhook/:id/retry', { params: { id } });
    asked.again();
  };
  return (
    <>
      <search class="filters">
        <FilterChoice name="state" label="State" values={choices(STATES)} />
        <FilterText name="request" label="Request" placeholder="id of a request" />
      </search>
      <Await asked={asked} what="the deliveries">
        {({ webhooks, ...echo }) => (
          <Table caption="Deliveries" columns={columnsOf(sendAgain)} rows={webhooks} keyOf={({ id }) => id} echo={echo}>
            <Empty title="There are no deliveries">
              <p>
                A request with <code>webhook_url</code> is answered at once, and its result is sent to that address when
                it has ended. Each attempt is listed here.
              </p>
            </Empty>
          </Table>
        )}
      </Await>
    </>
  );
}
