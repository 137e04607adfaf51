/** One batch: how far it is, what failed, and its items. */
import { answered, call } from '../api/client.ts';
import { offline } from '../api/failure.ts';
import { asToken, type HeldToken } from '../api/gateway.ts';
import { useRepeated } from '../api/use_call.ts';
import type { Answer } from '../../api_calls.ts';
import type { Batch as BatchAnswer, BatchItem } from '../../api_types.ts';
import { download } from '../parts/copy.tsx';
import { AskFirst } from '../parts/dialog.tsx';
import { FilterChoice, choices, oneOf } from '../parts/filters.tsx';
import { bytes, count, said } from '../parts/figures.ts';
import { Field, numberIn, WorkButton } from '../parts/form.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { countColumn, statusColumn, strangerColumn, Sums, Table, type Column } from '../parts/table.tsx';
import { Amount, Elapsed, Status, Stranger, Time } from '../parts/values.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { hrefOf, hrefWith, usePlace } from '../router.ts';
import { may, useUser } from '../session.ts';
import { Facets, FACETS } from './batch_facets.tsx';
import { overOf, progressOf, Standing, standingOf, atOnce, LOOK_MS } from './batches.tsx';

const STATES = ['waiting', 'running', 'success', 'with-errors', 'error', 'skipped'] as const;

const COLUMNS: readonly Column<BatchItem>[] = [
  statusColumn('State', ({ state }) => state, {
    // The code of a tool says more.
    why: ({ reason, code }) => (code === null && reason !== null && reason !== 'Completed' ? reason : undefined),
  }),
  strangerColumn('Address', ({ url }) => url, { most: 120, wide: true }),
  strangerColumn('Ref', ({ ref }) => ref ?? '', { most: 60 }),
  {
    title: 'Code',
    show: ({ code }) => (code === null ? <span class="unit">–</span> : <code>{code}</code>),
    text: ({ code }) => code ?? '',
  },
  statusColumn('Policy', ({ policy_outcome: outcome }) => outcome ?? ''),
  countColumn('Tries', ({ tries }) => tries),
  {
    title: 'Request',
    show: ({ request_id: id, ended_at: ended }) =>
      id === null || ended === null ? (
        <span class="unit">–</span>
      ) : (
        <a href={hrefOf(`/requests/${id}`)} title={id}>
          its request
        </a>
      ),
    text: ({ request_id: id }) => id ?? '',
  },
];

/** Of a budget: how much of it is used. */
const used = (value: string, most: number | null, unit: (most: number) => string): string =>
  most === null ? value : `${value} of ${unit(most)}`;

function Figures({ batch }: { batch: BatchAnswer }) {
  const { per_minute: perMinute, estimated_end_at: end, deadline_at: deadline, ended_at: ended } = batch;
  const size = (value: number): string => said(bytes(value));
  return (
    <Sums
      kind="around"
      sums={[
        ['Requests', used(count(batch.requests), batch.max_requests, count)],
        ['Read', used(size(batch.io_bytes), batch.max_bytes, size)],
        ['Items a minute', perMinute === null ? '–' : <Amount value={count(perMinute)} unit="" />],
        ...(ended === null
          ? ([
              ['Ends about', end === null ? '–' : <Time iso={end} />],
              ['Deadline', deadline === null ? 'none' : <Time iso={deadline} />],
            ] as const)
          : ([['Ended', <Time iso={ended} />]] as const)),
        ['Created', <Time iso={batch.created_at} />],
      ]}
    />
  );
}

function Head({ batch }: { batch: BatchAnswer }) {
  const { name, text, counts, errors } = batch;
  return (
    <section class={`head ${standingOf(batch).kind}`} aria-label="How it stands">
      <p class="verdict">
        <Standing of={batch} badge />
        <span>
          {progressOf(batch)}
          {text !== null && ` ${text}`}
        </span>
      </p>
      {name !== null && (
        <p>
          <Stranger text={name} />
        </p>
      )}
      <p class="measured">
        <progress value={overOf(batch)} max={batch.items} aria-label="Items that are over" />
        {Math.floor((100 * overOf(batch)) / batch.items)} %
      </p>
      <ul class="also beside" aria-label="Items by state">
        {STATES.filter((state) => counts[state] > 0).map((state) => (
          <li key={state}>
            <Status of={state} /> {count(counts[state])}
          </li>
        ))}
      </ul>
      <Figures batch={batch} />
      {errors.length > 0 && (
        <ul class="signals" aria-label="Errors by code">
          {errors.map(({ code, count: items }) => (
            <li key={code} class="bad">
              <a href={hrefWith({ code, state: null, page: null })}>
                <span aria-hidden="true">✕</span> <Stranger text={code} most={64} /> {count(items)}
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

// What can be done with it.

interface OfBatch {
  batch: BatchAnswer;
  bearer: string;
  again: () => void;
}

const MB = 1e6;

interface ResumeProps extends Pick<OfBatch, 'batch'> {
  work: (budget: { max_requests: number | null; max_bytes: number | null }) => Promise<void>;
}

/** A budget may be larger from then on; an empty one is none. */
function Resume({ batch: { max_requests: requests, max_bytes: most }, work }: ResumeProps) {
  return (
    <AskFirst
      button="Resume"
      kind="small"
      title="Resume the batch?"
      work={(values) => {
        const megabytes = numberIn(values, 'max_bytes');
        return work({
          max_requests: numberIn(values, 'max_requests'),
          max_bytes: megabytes === null ? null : Math.round(megabytes * MB),
        });
      }}
    >
      <p>It goes on with the items that wait. A budget that is used up must be larger, or empty.</p>
      <Field name="max_requests" label="Budget of requests" type="number" min={1} value={requests} />
      <Field
        name="max_bytes"
        label="Budget of data"
        unit="MB"
        type="number"
        min={0.000001}
        step="any"
        value={most === null ? null : most / MB}
      />
    </AskFirst>
  );
}
function Actions({ batch, bearer, again }: OfBatch) {
  const { id, state } = batch;
  const params = { id };
  const act = async (made: Promise<BatchAnswer>): Promise<void> => {
    await asToken(made);
    again();
  };
  return (
    <>
      {state === 'running' && (
        <WorkButton work={() => act(call('POST /v1/batch/:id/pause', { params, bearer }))}>Pause</WorkButton>
      )}
      {(state === 'paused' || state === 'stopped') && (
        <Resume batch={batch} work={(body) => act(call('POST /v1/batch/:id/resume', { params, body, bearer }))} />
      )}
      {state !== 'ended' && state !== 'cancelling' && (
        <AskFirst
          button="Cancel the batch"
          kind="small danger"
          danger
          work={() => act(call('POST /v1/batch/:id/cancel', { params, bearer }))}
        >
          <p>What waits is skipped, and what runs is cancelled. It cannot be resumed.</p>
        </AskFirst>
      )}
    </>
  );
}

/** All items, whatever is shown. */
const Downloads = ({ id, bearer }: { id: string; bearer: string }) => (
  <>
    {(['csv', 'ndjson'] as const).map((format) => (
      <WorkButton
        key={format}
        work={async () => {
          const given = { params: { id }, query: { format }, bearer };
          const response = await asToken(answered('GET /v1/batch/:id/results', given));
          const content = await response.blob().catch(() => Promise.reject(offline()));
          download(`batch-${id}.${format}`, content);
        }}
      >
        {format === 'csv' ? 'Download as CSV' : 'Download as lines of JSON'}
      </WorkButton>
    ))}
  </>
);

/** Filters by values that the batch has, by their name in the address. */
const LISTED = [['code', 'Code'], ...FACETS] as const;
const NO_FILTER = Object.fromEntries(['state', 'page', ...LISTED.map(([name]) => name)].map((name) => [name, null]));

function Filters({ errors, summary }: BatchAnswer) {
  const { query } = usePlace();
  const lists = LISTED.map(([name, label]) => {
    const chosen = query.get(name) ?? [];
    const has = name === 'code' ? errors.map(({ code }) => code) : summary[name].flatMap(({ value }) => value ?? []);
    return { name, label, values: [...new Set([chosen, has].flat())] };
  });
  return (
    <search class="filters">
      <FilterChoice name="state" label="State" values={choices(STATES)} />
      {lists.map(
        ({ name, label, values }) =>
          values.length > 0 && <FilterChoice key={name} name={name} label={label} values={choices(values)} />,
      )}
    </search>
  );
}

interface Looked {
  batch: BatchAnswer;
  page: Answer<'GET /v1/batch/:id/items'>;
}

const ROWS = 100;

function useBatch(id: string, bearer: string) {
  const { query } = usePlace();
  const after = Number(query.get('page') ?? Number.NaN);
  const [state = null] = oneOf(query.get('state'), STATES);
  const asked = {
    limit: ROWS,
    state,
    ...(Object.fromEntries(LISTED.map(([name]) => [name, query.get(name)])) as Record<
      (typeof LISTED)[number][0],
      string | null
    >),
    after: Number.isInteger(after) ? after : null,
  };
  const params = { id };
  return useRepeated<Looked>({
    key: JSON.stringify([id, bearer, asked]),
    everyMs: LOOK_MS,
    async ask(signal) {
      const [batch, page] = await asToken(
        Promise.all([
          call('GET /v1/batch/:id', { params, bearer, signal }),
          call('GET /v1/batch/:id/items', { params, query: asked, bearer, signal }),
        ] as const),
      );
      return { batch, page };
    },
    isLast: ({ batch }) => batch.state === 'ended',
  });
}

function Shown({ id, token: { text: bearer } }: { id: string; token: HeldToken }) {
  const { asked, at } = useBatch(id, bearer);
  const mayAct = may(useUser(), 'write:media');
  return (
    <Await asked={asked} what="the batch">
      {({ batch, page: { items, next } }) => (
        <>
          <Head batch={batch} />
          <p class="actions">
            {mayAct && <Actions batch={batch} bearer={bearer} again={asked.again} />}
            <Downloads id={id} bearer={bearer} />
            {batch.state !== 'ended' && (
              <span class="unit">
                Renewed every {LOOK_MS / 1_000} s. <Elapsed since={at} whole /> old.
              </span>
            )}
          </p>
          <Facets summary={batch.summary} ended={overOf(batch)} />
          <h2>Items</h2>
          <Filters {...batch} />
          <Table caption="Items" columns={COLUMNS} rows={items} keyOf={({ n }) => n} next={next}>
            <Empty title={next === null ? 'No item matches' : 'None of these items matches'}>
              <p>
                <a href={hrefWith(NO_FILTER)}>All items</a>
              </p>
            </Empty>
          </Table>
        </>
      )}
    </Await>
  );
}

export const Batch = ({ params }: { params: Record<string, string> }) => (
  <WithToken what="a token" read={atOnce}>
    {(_, token) => <Shown id={params['id']!} token={token} />}
  </WithToken>
);
