/** What was used: figures of a time, in steps, and how near the limits are. */
import { useCall } from '../api/use_call.ts';
import { amountColumn, countColumn, timeColumn } from '../parts/columns.tsx';
import { FilterChoice, type Range, RangeFilter, rangeIn } from '../parts/filters.tsx';
import { bytes, count, milliseconds } from '../parts/figures.ts';
import { Await, Empty } from '../parts/states.tsx';
import { Sums, Table, type Column } from '../parts/table.tsx';
import { Amount } from '../parts/time.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { HeadRoom } from './head_room.tsx';
import { addedUp, bucketsOf, summed, type Bucket } from './usage_figures.ts';

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
}

/** A figure, and a bar that shows its part of the most. */
const barColumn = <Row,>(title: string, of: (row: Row) => number, most: number): Column<Row> => ({
  title,
  show: (row) => (
    <span class="measured">
      <span class="bar" style={{ width: `${(of(row) / most) * 96}px` }} />
      {count(of(row))}
    </span>
  ),
  text: (row) => String(of(row)),
  right: true,
});

const figureOf =
  (name: string) =>
  ({ figures }: Bucket): number =>
    figures[name] ?? 0;

const longestIn = figureOf('queue-time-maximum');

const columns = (most: number): readonly Column<Bucket>[] => [
  timeColumn('From', ({ at }) => at),
  barColumn('Requests', figureOf('request-count'), most),
  amountColumn('Processing time', figureOf('processing-time'), milliseconds),
  amountColumn('Data', figureOf('data-processed'), bytes),
  amountColumn('Queue, average', figureOf('queue-time-average'), milliseconds),
  amountColumn('Queue, p95', figureOf('queue-time-p95'), milliseconds),
  amountColumn('Queue, longest', longestIn, milliseconds),
  countColumn('Timed out', figureOf('timed-out')),
];

interface SharesProps {
  caption: string;
  figures: Record<string, number>;
  /** Of which there are rows. */
  names?: readonly string[];
}

function Shares({ caption, figures, names = Object.keys(figures) }: SharesProps) {
  const shares = names.flatMap((name) => (figures[name] ? [{ name, requests: figures[name] }] : []));
  const most = Math.max(1, ...shares.map(({ requests }) => requests));
  const shareColumns: readonly Column<(typeof shares)[number]>[] = [
    { title: caption, text: ({ name }) => name },
    barColumn('Requests', ({ requests }) => requests, most),
  ];
  return <Table caption={caption} columns={shareColumns} rows={shares} keyOf={({ name }) => name} />;
}

const OUTCOMES = ['success', 'with-errors', 'error'];

/** Shares of the whole time: whatever the steps are. */
function BySourceAndTool({ asked }: { asked: Asked }) {
  const query = { ...asked, aggregation: 'no-aggregation' as const };
  const sources = useCall('GET statistics/sources', { query });
  const requests = useCall('GET statistics/requests', { query });
  return (
    <div class="columns">
      <Await asked={sources} what="the sources">
        {(answer) => <Shares caption="By source" figures={summed(answer)} />}
      </Await>
      <Await asked={requests} what="the kinds">
        {(answer) => {
          const figures = summed(answer);
          const kinds = Object.keys(figures).filter((name) => !OUTCOMES.includes(name));
          return (
            <>
              <Shares caption="By kind" figures={figures} names={kinds} />
              <Shares caption="By outcome" figures={figures} names={OUTCOMES} />
            </>
          );
        }}
      </Await>
    </div>
  );
}

/** Over all tokens, or of one. */
function TokenChoice() {
  const tokens = useCall('GET auth/api-token', { query: { pagination: { limit: 100 } } });
  return (
    <FilterChoice
      name="token"
      label="Token"
      values={[
        ['', 'all'],
        ...(tokens.data?.['api-tokens'] ?? []).map(({ id, name }) => [String(id), `${id} ${name}`] as const),
      ]}
    />
  );
}

function Figures({ asked }: { asked: Asked }) {
  const usage = useCall('GET statistics/usage', { query: asked });
  const queue = useCall('GET statistics/queue', { query: asked });
  return (
    <Await asked={usage} what="the usage">
      {(used) => (
        <Await asked={queue} what="the queue times">
          {(queued) => {
            const buckets = bucketsOf(used, queued);
            if (buckets.length === 0)
              return (
                <Empty title="Nothing was used in this time">
                  <p>Choose a longer time. Requests are counted when they have ended, at the time they were sent.</p>
                  <a href={hrefOf('/tokens')}>Tokens to send requests with</a>
                </Empty>
              );
            const total = addedUp(buckets);
            const most = Math.max(1, ...buckets.map(({ figures }) => figures['request-count'] ?? 0));
            return (
              <>
                <Sums
                  sums={[
                    ['Requests', count(total['request-count'] ?? 0)],
                    ['Processing time', <Amount {...milliseconds(total['processing-time'] ?? 0)} />],
                    ['Data', <Amount {...bytes(total['data-processed'] ?? 0)} />],
                    ['Longest in the queue', <Amount {...milliseconds(Math.max(...buckets.map(longestIn)))} />],
                  ]}
                />
                <Table
                  caption="Usage"
                  columns={columns(most)}
                  rows={buckets}
                  keyOf={({ at, user }) => `${at} ${user}`}
                />
                <BySourceAndTool asked={asked} />
              </>
            );
          }}
        </Await>
      )}
    </Await>
  );
}

export function Usage() {
  const { query } = usePlace();
  const date = rangeIn(query, 'week');
  const step = STEPS.find(([value]) => value === query.get('step'))?.[0] ?? '';
  const token = Number(query.get('token') ?? 0);
  const asked: Asked = {
    date,
    aggregation: step === '' ? 'daily' : step,
    'token-id': token > 0 ? [token] : [],
  };
  return (
    <>
      <search class="filters">
        <RangeFilter byDefault="week" />
        <FilterChoice name="step" label="In steps of" values={STEPS} />
        <TokenChoice />
      </search>
      {token > 0 && <HeadRoom token={token} />}
      <Figures asked={asked} />
    </>
  );
}
