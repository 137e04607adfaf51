/** Statistics: figures by user and bucket, a month or a year of each user in one list, and the chargeback. */
import Type, { type Static } from 'typebox';
import { RECORDED_KINDS } from '../../../platform/kube/probe_job.ts';
import { AGGREGATIONS, periodOf, rangeProblem, summaryPeriod } from '../../../platform/statistics/aggregation.ts';
import { NAMES, type Statistic, summaryOf, usersUsage } from '../../../platform/statistics/resources.ts';
import { callerOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { invalid } from '../errors.ts';
import { endpoint, type Endpoint, withoutNull } from '../http/endpoint.ts';
import {
  choice,
  closed,
  ids,
  oneOf,
  optionalWhole,
  time,
  component,
  optionalText,
  orNull,
} from '../http/request_fields.ts';
import { ownersOf, timeRange, timesOf } from './query_filters.ts';
import type { Charged, Month } from '../../../platform/store/chargeback.ts';
import { DECODED } from '../accounts/account_limits.ts';
import { Labels } from '../accounts/account_labels.ts';
import { exportPages, inLines } from '../http/export_pages.ts';

const BucketsQuery = closed({
  date: timeRange('Which requests: by the time they were sent.', 'a month before `to`'),
  aggregation: choice(
    AGGREGATIONS,
    'daily',
    'How wide a bucket is. UTC; weeks begin on Monday (ISO). secondly is over at most 24 hours, minutely ' +
      'over at most 31 days, hourly over at most 366 days.',
  ),
  'user-id': ids('Of these users. Default: the caller and their sub-users.'),
  'token-id': ids('With these tokens.'),
});

const PERIOD = { from: time(), to: time() };
const Period = Type.Object(PERIOD, { title: 'Period' });

const bucketsOf = (names: readonly string[]) =>
  Type.Object({
    aggregation: oneOf(AGGREGATIONS, { title: 'Aggregation' }),
    period: Period,
    'users-usage': Type.Array(
      Type.Object({
        'user-id': Type.Integer(),
        'aggregated-usage': Type.Array(
          Type.Object({
            'aggregation-time': time('When the bucket begins; with no-aggregation: period.from.'),
            resources: Type.Object(Object.fromEntries(names.map((name) => [name, Type.Number()]))),
          }),
        ),
      }),
      { description: 'Users and buckets with data, by id and time.' },
    ),
  });

const statistics = (statistic: Statistic, summary: string, description: string): Endpoint =>
  endpoint(`GET statistics/${statistic}`, {
    id: `statistics${statistic[0]!.toUpperCase()}${statistic.slice(1)}`,
    summary,
    also: [404],
    query: BucketsQuery,
    description:
      `${description} Counts finished requests at the time they were sent. Seconds are available as long as the ` +
      'log is kept, minutes as long as the installation keeps them (400 days by default), wider aggregations for ' +
      'ever; beyond the log, ranges are rounded to whole minutes, and beyond the minutes to whole hours.',
    answer: { description: 'The figures.', schema: bucketsOf(NAMES[statistic]) },
    async work(deps, ctx, { date, aggregation, ...whose }) {
      const period = periodOf(timesOf('date', date), new Date(Math.floor(deps.store.clock.now())));
      const problem = rangeProblem(aggregation, period, (await deps.store.keptSince()).minutes);
      if (problem) throw invalid(problem.field, problem.text);
      const owners = await ownersOf(deps, callerOf(ctx), whose, 'own');
      const figures = await deps.store.usageFigures(statistic, owners, period, aggregation);
      return {
        aggregation,
        period: { from: period.from.toISOString(), to: period.to.toISOString() },
        'users-usage': usersUsage(statistic, figures, period.from),
      };
    },
  });

export const statisticsUsage = statistics(
  'usage',
  'Usage',
  '`processing-time` and `queue-time` in milliseconds, `data-processed` in bytes read from origins, ' +
    '`decoded-seconds` of media, which content checks decoded.',
);
export const statisticsQueue = statistics(
  'queue',
  'Queue times',
  'In milliseconds. `queue-time-p95` is read from a histogram, with an error of at most 9.1 % or half a ' +
    'millisecond; the other values are exact. `timed-out`: requests that timed out in the queue.',
);
export const statisticsRequests = statistics(
  'requests',
  'Requests by kind and outcome',
  `By kind ${RECORDED_KINDS.map((kind) => `\`${kind}\``).join(', ')}; by outcome \`success\`, ` +
    '`with-errors`, `error`.',
);
export const statisticsSources = statistics(
  'sources',
  'Requests by source',
  'Playlists and manifests count as `hls` and `dash`, everything else by its scheme.',
);

const SummaryAnswer = Type.Object({
  period: Type.Object(PERIOD),
  'users-usage': Type.Array(
    Type.Object({
      'user-id': Type.Integer(),
      resources: Type.Array(
        Type.Object({
          name: Type.String(),
          title: Type.String(),
          value: Type.Number(),
          'value-type': Type.Unsafe<string | null>({
            type: ['string', 'null'],
            enum: ['ms', 'request', 'byte', 'second', null],
          }),
          amount: Type.Number({ description: 'Always 0: nothing is billed.' }),
          price: Type.Number({ description: 'Always 0: nothing is billed.' }),
        }),
      ),
    }),
    { description: 'All requested users by id, including those without usage.' },
  ),
});

export const statisticsSummary = endpoint('GET statistics/summary', {
  id: 'statisticsSummary',
  summary: 'Monthly summary',
  also: [404],
  query: closed({
    month: optionalWhole(1, 12, 'Default: the current month, or the whole year if a year is given.'),
    year: optionalWhole(2000, 9998, 'Default: the current year.'),
    'user-id': ids('Of these users. Default: the caller and their sub-users.'),
  }),
  answer: { description: 'Usage of each user in the month or year.', schema: SummaryAnswer },
  async work(deps, ctx, { month, year, ...whose }) {
    const period = summaryPeriod({ month, year }, new Date(deps.store.clock.now()));
    const owners = await ownersOf(deps, callerOf(ctx), whose, 'own');
    const figures = await deps.store.usageFigures('usage', owners, period, 'no-aggregation');
    const used = new Map(figures.map(({ userId, values }) => [userId, values]));
    const users = owners.userIds === 'everyone' ? [...used.keys()] : [...owners.userIds].sort((a, b) => a - b);
    return {
      period: { from: period.from.toISOString(), to: period.to.toISOString() },
      'users-usage': users.map((id) => ({ 'user-id': id, resources: summaryOf(used.get(id) ?? {}) })),
    };
  },
});

// What each account used in a month, as lines of CSV or JSON, for those who charge it.

const Row = component('ChargebackRow', {
  month: Type.String(),
  'account-id': orNull(Type.Integer({ description: 'The root user. Absent: erased accounts with these labels.' })),
  labels: Labels,
  'request-count': Type.Integer({ description: 'Ended requests.' }),
  success: Type.Integer(),
  'with-errors': Type.Integer(),
  error: Type.Integer(),
  'processing-time': Type.Integer({ description: 'Billed milliseconds of tools.' }),
  'data-processed': Type.Integer({ description: 'Bytes read from origins.' }),
  'decoded-seconds': Type.Integer({ description: DECODED }),
});
type Row = Static<typeof Row>;

/** The whole month in UTC that this text names, or the one before now. */
export function monthOf(asked: string | null, now: Date): { name: string; month: Month } {
  const current = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()));
  const from = asked === null ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)) : new Date(asked);
  if (from > current) throw invalid('month', `must not be after this month, ${current.toISOString().slice(0, 7)}`);
  const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1));
  return { name: from.toISOString().slice(0, 7), month: { from, to } };
}

const rowOf = (month: string, { accountId, labels, used }: Charged): Row => ({
  month,
  'account-id': accountId,
  labels,
  'request-count': used['request-count'],
  success: used.success,
  'with-errors': used['with-errors'],
  error: used.error,
  'processing-time': used['processing-time'],
  'data-processed': used['data-processed'],
  'decoded-seconds': used['decoded-seconds'],
});

/** Labels as kubectl prints them. No value has a quote, or begins with what a spreadsheet calculates. */
const csvOf = (row: Row): string =>
  Object.values({
    ...row,
    'account-id': row['account-id'] ?? '',
    labels: `"${Object.entries(row.labels)
      .map((pair) => pair.join('='))
      .toSorted()
      .join()}"`,
  }).join();

const WRITERS = {
  csv: {
    type: 'text/csv',
    head: `${Object.keys(Row.properties).join()}\n`,
    line: (row: Row): string => `${csvOf(row)}\n`,
  },
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: (row: Row): string => `${JSON.stringify(row, withoutNull)}\n`,
  },
} as const;

const ACCOUNTS = 100;

async function* pagesOf({ store }: Deps, month: Month): AsyncGenerator<Charged[], void> {
  for (let after = 0, more = true; more;) {
    const rows = await store.chargeback(month, after, ACCOUNTS);
    yield rows;
    more = rows.length === ACCOUNTS;
    after = rows.at(-1)?.accountId ?? after;
  }
  yield await store.chargebackOfErased(month);
}

export const statisticsChargeback = endpoint('GET statistics/chargeback', {
  id: 'exportChargeback',
  summary: 'Monthly chargeback',
  query: closed({
    month: optionalText(7, 'Such as 2026-10, in UTC. Default: the last finished month.', '^20\\d\\d-(0[1-9]|1[0-2])$'),
    format: choice(['csv', 'ndjson'], 'csv', 'csv: a line of names, then a line for each row. ndjson: lines of JSON.'),
  }),
  description:
    'A row for each account that used anything in the month, with its labels as they are now. What erased users ' +
    'used in finished months stays: that of sub-users with their account, that of accounts in one row for each ' +
    'set of labels. An answer that is cut is incomplete.',
  answer: {
    description: 'All rows.',
    mediaType: 'text/csv',
    schema: Type.String(),
    otherTypes: { 'application/x-ndjson': Row },
  },
  async work(deps, ctx, { month: asked, format }) {
    const { name, month } = monthOf(asked, new Date(deps.store.clock.now()));
    const { line, ...form } = WRITERS[format];
    await exportPages(ctx, {
      ...form,
      file: `chargeback-${name}.${format}`,
      write: inLines((one) => (one.used['request-count'] > 0 ? line(rowOf(name, one)) : '')),
      pages: pagesOf(deps, month),
      pace: deps.paceOf(callerOf(ctx).rootUserId),
    });
  },
});
