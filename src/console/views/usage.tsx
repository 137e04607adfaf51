/**
 * What was used: figures of a time, in steps, and how near the limits are; for administrators who uses most, and the
 * month of each account to download.
 */
import { useMemo } from 'preact/hooks';
import { targetOf } from '../../api_calls.ts';
import { useAsked } from '../api/use_call.ts';
import { Chart } from '../parts/chart.tsx';
import type { ChartData } from '../parts/chart_data.ts';
import { amountColumn, countColumn, strangerColumn, timeColumn, Sums, Table, type Column } from '../parts/table.tsx';
import { FilterChoice, FilterText, oneOf, type Range, RangeFilter, rangeIn } from '../parts/filters.tsx';
import { bytes, count, milliseconds, said, seconds } from '../parts/figures.ts';
import { tokenChoices, usersBy, useTokenNames } from '../parts/names.ts';
import { Await, Empty } from '../parts/states.tsx';
import { Amount } from '../parts/values.tsx';
import { hrefOf, hrefWith, usePlace } from '../router.ts';
import { may, useUser } from '../session.ts';
import { HeadRoom } from './head_room.tsx';
import { addedUp, bucketsOf, summed, type Bucket } from './usage_figures.ts';
import { call } from '../api/client.ts';

const STEPS = [
  ['', 'days'],
  ['no-aggregation', 'all together'],
  ['yearly', 'years'],
  ['monthly', 'months'],
  ['weekly', 'weeks'],
  ['hourly', 'hours'],
  ['minutely', 'minutes'],
  ['secondly', 'seconds'],
] as const;
type Step = Exclude<(typeof STEPS)[number][0], ''> | 'daily';

interface Asked {
  date: Range;
  aggregation: Step;
  'token-id': number[];
  'user-id': number[];
}

const figureOf =
  (name: string) =>
  ({ figures }: Bucket): number =>
    figures[name] ?? 0;

const longestIn = figureOf('queue-time-maximum');

const COLUMNS: readonly Column<Bucket>[] = [
  timeColumn('From', ({ at }) => at),
  countColumn('Requests', figureOf('request-count')),
  amountColumn('Processing time', figureOf('processing-time'), milliseconds),
  amountColumn('Data', figureOf('data-processed'), bytes),
  amountColumn('Decoded', figureOf('decoded-seconds'), seconds),
  amountColumn('Queue, average', figureOf('queue-time-average'), milliseconds),
  amountColumn('Queue, p95', figureOf('queue-time-p95'), milliseconds),
  amountColumn('Queue, longest', longestIn, milliseconds),
  countColumn('Timed out', figureOf('timed-out')),
];

/** Requests, then their queue times; buckets of several users are added up. */
function chartsOf(buckets: readonly Bucket[]): { requests: ChartData; queue: ChartData } {
  const byTime = [...Map.groupBy(buckets, ({ at }) => at)];
  const x = byTime.map(([at]) => Date.parse(at) / 1_000);
  const most = (name: string): number[] => byTime.map(([, some]) => Math.max(...some.map(figureOf(name))));
  const sum = byTime.map(([, some]) => addedUp(some)['request-count'] ?? 0);
  return {
    requests: { x, series: [{ label: 'Requests', values: sum, color: 'series-1', as: 'bars' }] },
    queue: {
      x,
      series: [
        { label: 'Average', values: most('queue-time-average'), color: 'series-1', as: 'line' },
        { label: 'p95', values: most('queue-time-p95'), color: 'series-2', as: 'line' },
        { label: 'Longest', values: most('queue-time-maximum'), color: 'series-3', as: 'dots' },
      ],
    },
  };
}

/** Over the whole time that was chosen, also where nothing was used. */
function Curves({ buckets, date }: { buckets: readonly Bucket[]; date: Range }) {
  const { requests, queue } = useMemo(() => chartsOf(buckets), [JSON.stringify(buckets)]);
  const secondsAt = (iso: string): number => Date.parse(iso) / 1_000;
  const view = {
    from: Math.min(secondsAt(date.from), requests.x[0]!),
    to: date.to === null ? Date.now() / 1_000 : secondsAt(date.to),
  };
  return (
    <div class="columns">
      <section>
        <h2>Requests over time</h2>
        <Chart label="Requests over time" data={requests} yText={count} view={view} />
      </section>
      <section>
        <h2>Time in the queue</h2>
        <Chart label="Time in the queue" data={queue} yText={(value) => said(milliseconds(value))} view={view} />
      </section>
    </div>
  );
}

type Share = [name: string, requests: number];

function Shares({ caption, shares }: { caption: string; shares: readonly Share[] }) {
  const columns: readonly Column<Share>[] = [
    { title: caption, text: ([name]) => name },
    countColumn('Requests', ([, requests]) => requests),
  ];
  const rows = shares.filter(([, requests]) => requests > 0);
  return <Table caption={caption} columns={columns} rows={rows} keyOf={([name]) => name} />;
}

const OUTCOMES = ['success', 'with-errors', 'error'];

/** Shares of the whole time: whatever the steps are. */
function BySourceAndTool({ asked }: { asked: Asked }) {
  const query = { ...asked, aggregation: 'no-aggregation' as const };
  const both = useAsked(`shares ${JSON.stringify(query)}`, (signal) =>
    Promise.all([
      call('GET statistics/sources', { query, signal }),
      call('GET statistics/requests', { query, signal }),
    ] as const),
  );
  return (
    <Await asked={both} what="the shares">
      {([sources, requests]) => {
        const shares = Object.entries(summed(requests));
        return (
          <div class="columns">
            <Shares caption="By source" shares={Object.entries(summed(sources))} />
            <Shares caption="By kind" shares={shares.filter(([name]) => !OUTCOMES.includes(name))} />
            <Shares caption="By outcome" shares={shares.filter(([name]) => OUTCOMES.includes(name))} />
          </div>
        );
      }}
    </Await>
  );
}

function Figures({ asked }: { asked: Asked }) {
  const both = useAsked(JSON.stringify(asked), (signal) =>
    Promise.all([
      call('GET statistics/usage', { query: asked, signal }),
      call('GET statistics/queue', { query: asked, signal }),
    ] as const),
  );
  return (
    <Await asked={both} what="the usage">
      {(answers) => {
        const buckets = bucketsOf(...answers);
        if (buckets.length === 0)
          return (
            <Empty title="Nothing was used in this time">
              <p>Choose a longer time. Requests are counted when they have ended, at the time they were sent.</p>
              <a href={hrefOf('/tokens')}>Tokens to send requests with</a>
            </Empty>
          );
        const total = addedUp(buckets);
        return (
          <>
            <Sums
              sums={[
                ['Requests', count(total['request-count'] ?? 0)],
                ['Processing time', <Amount {...milliseconds(total['processing-time'] ?? 0)} />],
                ['Data', <Amount {...bytes(total['data-processed'] ?? 0)} />],
                ['Media decoded', <Amount {...seconds(total['decoded-seconds'] ?? 0)} />],
                ['Longest in the queue', <Amount {...milliseconds(Math.max(...buckets.map(longestIn)))} />],
              ]}
            />
            {asked.aggregation !== 'no-aggregation' && <Curves buckets={buckets} date={asked.date} />}
            <Table caption="Usage" columns={COLUMNS} rows={buckets} keyOf={({ at, user }) => `${at} ${user}`} />
            <BySourceAndTool asked={asked} />
          </>
        );
      }}
    </Await>
  );
}

export function Usage() {
  const { query } = usePlace();
  const user = useUser();
  const tokens = useTokenNames();
  const date = rangeIn(query, 'week');
  const step = STEPS.find(([value]) => value === query.get('step'))?.[0] ?? '';
  const token = Number(query.get('token') ?? 0);
  const by = query.get('user') ?? '';
  const users = useAsked(`users by ${by}`, async () => (by === '' ? [] : usersBy(by)));
  return (
    <>
      <search class="filters">
        <RangeFilter byDefault="week" />
        <FilterChoice name="step" label="In steps of" values={STEPS} />
        <FilterChoice name="token" label="Token" values={tokenChoices(tokens, 'all')} />
        {may(user, 'read:sub-user') && <FilterText name="user" label="User" placeholder="part of an e-mail address" />}
      </search>
      {token > 0 && <HeadRoom token={token} />}
      <Await asked={users} what="the users">
        {(ids) =>
          by !== '' && ids.length === 0 ? (
            <Empty title="No user fits">
              <p>Shorten the part of the address.</p>
            </Empty>
          ) : (
            <Figures
              asked={{
                date,
                aggregation: step === '' ? 'daily' : step,
                'token-id': token > 0 ? [token] : [],
                'user-id': ids,
              }}
            />
          )
        }
      </Await>
      {may(user, 'read:admin') && by === '' && token === 0 && (
        <>
          <UsageByUser date={date} />
          <Chargeback />
        </>
      )}
    </>
  );
}

// Who uses most, for administrators: the users of the installation by their requests.

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

const BY_USER: readonly Column<Row>[] = [
  strangerColumn('User', ({ email }) => email, { most: 60, to: ({ email }) => hrefWith({ user: email }) }),
  countColumn('Requests', ({ figures }) => figures['request-count']),
  amountColumn('Processing time', ({ figures }) => figures['processing-time'], milliseconds),
  amountColumn('Data', ({ figures }) => figures['data-processed'], bytes),
  amountColumn('Decoded', ({ figures }) => figures['decoded-seconds'], seconds),
];

function UsageByUser({ date }: { date: Range }) {
  const asked = useAsked(`users ${JSON.stringify(date)}`, (signal) => read(date, signal));
  return (
    <section>
      <h2>Who uses most</h2>
      <Await asked={asked} what="the users">
        {({ rows, users }) => (
          <>
            <Table caption="By user" columns={BY_USER} rows={rows.slice(0, SHOWN)} keyOf={({ email }) => email} />
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

// What each account used in a month, with its labels.

const MONTHS = 24;

/** In UTC, the last one first. */
const monthsTo = (now: Date): string[] =>
  Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  );

const FORMATS = [
  ['csv', 'Download as CSV'],
  ['ndjson', 'Download as lines of JSON'],
] as const;

function Chargeback() {
  const { query } = usePlace();
  const [current = '', last = '', ...before] = monthsTo(new Date());
  const month = oneOf(query.get('month'), [current, ...before])[0] ?? last;
  const { path } = targetOf('GET statistics/chargeback');
  return (
    <section>
      <h2>Chargeback</h2>
      <p class="help">
        What each account used in a month, in UTC, with the labels of its page.{' '}
        <a href="/docs/operating/chargeback">What the columns say</a>
      </p>
      <div class="filters">
        <FilterChoice
          name="month"
          label="Month"
          values={[['', last], [current, `${current}, so far`], ...before.map((name) => [name, name] as const)]}
        />
      </div>
      <p class="actions">
        {FORMATS.map(([format, title]) => (
          <a
            key={format}
            href={`${path}?${new URLSearchParams({ month, format }).toString()}`}
            download={`chargeback-${month}.${format}`}
          >
            {title}
          </a>
        ))}
      </p>
    </section>
  );
}
