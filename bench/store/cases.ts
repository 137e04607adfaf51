/**
 * The queries on two years of requests: every statistic over every range and aggregation, and the pages of the log, of
 * a user and of all users.
 */
import { DEFAULT_LIMITS } from '../../src/base/limits.ts';
import { AGGREGATIONS, rangeProblem, type Aggregation } from '../../src/platform/statistics/aggregation.ts';
import { NAMES, usersUsage, type Statistic } from '../../src/platform/statistics/resources.ts';
import type { Database, Query } from '../../src/platform/store/connection.ts';
import type { LogFilter, LogPage } from '../../src/platform/store/log.ts';
import type { Owners } from '../../src/platform/store/statistics.ts';
import { bound, type Store } from '../../src/platform/store/store.ts';

const DAY = 86_400_000;

export interface Case {
  group: 'statistics' | 'log';
  /** The title of the figures. */
  what: string;
  /** The user of the query: any, the largest, or everyone. */
  whose: 'any' | 'largest' | 'everyone';
  run(store: Calls, user: number): Promise<unknown>;
}
type Calls = Pick<Store, 'usageFigures' | 'listLog'>;

/** The statements that it sends, to explain their plans. */
export async function statementsOf({ run }: Case, database: Database, user: number): Promise<Query[]> {
  const sent: Query[] = [];
  const recorder = {
    ...database,
    defaultLimits: DEFAULT_LIMITS,
    // Where the record begins: before everything.
    first: <T>() => Promise.resolve({ ms: -Infinity } as T),
    rows: <T>(query: Query) => {
      sent.push(query);
      return database.rows<T>(query);
    },
    one: <T>(query: Query) => {
      sent.push(query);
      return database.one<T>(query);
    },
  };
  await run(bound(recorder), user);
  return sent;
}

/** A time within a minute, so that both ends of every range are partial. */
const inside = (time: number) => time + 12_345;
const RANGES: [string, number][] = [
  ['a day', 1],
  ['31 days', 31],
  ['a year', 365],
  ['two years', 725],
];

const owned = (user: number): Owners => ({ userIds: [user], tokenIds: null });

export function statisticsCases(end: Date): Case[] {
  const cases: Case[] = [];
  for (const statistic of Object.keys(NAMES) as Statistic[]) {
    for (const aggregation of AGGREGATIONS) {
      for (const [words, days] of RANGES) {
        // Exactly as long as the words say, because the limits of secondly and minutely are exact.
        const to = new Date(inside(end.getTime() - 2 * DAY));
        const period = { from: new Date(to.getTime() - days * DAY), to };
        if (rangeProblem(aggregation, period)) continue;
        for (const whose of ['any', 'largest'] as const)
          cases.push(statisticsCase(statistic, aggregation, words, period, whose));
      }
    }
  }
  return cases;
}

export function statisticsCase(
  statistic: Statistic,
  aggregation: Aggregation,
  words: string,
  period: { from: Date; to: Date },
  whose: Case['whose'],
): Case {
  return {
    group: 'statistics',
    what: `${statistic}, ${aggregation}, ${words}`,
    whose,
    // Including the text of the response, which is a considerable part for the hours of a year.
    run: async (store, user) =>
      JSON.stringify(
        usersUsage(statistic, await store.usageFigures(statistic, owned(user), period, aggregation), period.from),
      ),
  };
}

export function logCases(begin: Date, end: Date, requests: number, users: number): Case[] {
  const all = { from: begin, to: new Date(end.getTime() + 1) };
  const day = { from: new Date(end.getTime() - DAY), to: all.to };
  const page = (
    what: string,
    whose: Case['whose'],
    filter: Partial<LogFilter>,
    rest: Partial<Omit<LogPage, 'filter'>> = {},
  ): Case => {
    const of = (user: number): LogPage => ({
      filter: {
        period: all,
        ...filter,
        owners: whose === 'everyone' ? { userIds: 'everyone', tokenIds: null } : { ...owned(user), ...filter.owners },
      },
      sort: { field: 'send', order: 'desc' },
      offset: 0,
      limit: 10,
      ...rest,
    });
    return { group: 'log', what, whose, run: (store, user) => store.listLog(of(user)) };
  };
  const ofUser = (whose: 'any' | 'largest', mean: number): Case[] => [
    page('first page of the last day', whose, { period: day }),
    page('first page of two years', whose, {}),
    page('a page of 1,000', whose, {}, { limit: 1000 }),
    page('a page in the middle', whose, {}, { offset: Math.floor(mean / 2) }),
    page(
      'the last page, oldest first',
      whose,
      {},
      { offset: Math.floor(mean * 0.9), sort: { field: 'send', order: 'asc' } },
    ),
    page('ended in error', whose, { status: ['error'] }),
    page('ended in error, deep', whose, { status: ['error'] }, { offset: Math.floor(mean * 0.03) }),
    page('of the kind msv, with errors', whose, { type: ['msv'], status: ['with-errors'] }),
    page('ffprobe failed', whose, { 'status-ffprobe': ['error'] }),
    page('ffprobe failed, deep', whose, { 'status-ffprobe': ['error'] }, { offset: Math.floor(mean * 0.08) }),
    page('by status', whose, {}, { sort: { field: 'status', order: 'asc' } }),
    page(
      "by ffprobe's status, deep",
      whose,
      {},
      { sort: { field: 'status-ffprobe', order: 'asc' }, offset: Math.floor(mean / 2) },
    ),
    page('part of an address, a month', whose, {
      url: 'clip-77',
      period: { from: new Date(end.getTime() - 31 * DAY), to: all.to },
    }),
    page('part of an address, two years', whose, { url: 'clip-77' }),
    page('by address, two years', whose, {}, { sort: { field: 'url', order: 'asc' } }),
  ];
  return [
    // The smallest users have about a third of the mean.
    ...ofUser('any', requests / users / 3),
    ...ofUser('largest', requests / Math.cbrt(users)),
    page('first page of the last day', 'everyone', { period: day }),
    page('first page of two years', 'everyone', {}),
    page('a page in the middle', 'everyone', {}, { offset: Math.floor(requests / 2) }),
    page('the last page', 'everyone', {}, { offset: requests - 20 }),
    page('ended in error, in the middle', 'everyone', { status: ['error'] }, { offset: Math.floor(requests * 0.025) }),
    page('ffprobe failed, last day', 'everyone', { period: day, 'status-ffprobe': ['error'] }),
    page('part of an address, last day', 'everyone', { period: day, url: 'clip-77' }),
    page('by address, last day', 'everyone', { period: day }, { sort: { field: 'url', order: 'asc' } }),
    page('by user, last day', 'everyone', { period: day }, { sort: { field: 'user-id', order: 'asc' } }),
    page('ffprobe failed, two years', 'everyone', { 'status-ffprobe': ['error'] }),
    page('by status, two years', 'everyone', {}, { sort: { field: 'status', order: 'asc' } }),
  ];
}
