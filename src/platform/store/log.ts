/**
 * The log: ended requests, in pages. A page's ids come from index-only scans (requests_log_user, requests_log); then
 * its few rows are read. If only owners, kinds and ends are filtered, the rollups give the total and the position of a
 * page: one out of two years is read from the one or two days that hold it.
 */
import type { Sql } from 'sql-template-tag';
import type { RecordedKind } from '../kube/probe_job.ts';
import { cover, SIZE, type Range } from '../statistics/cover.ts';
import { column, selected, type RecordOf } from './columns.ts';
import type { Database, Query } from './connection.ts';
import { crossed } from './measures.ts';
import { allOf, query, raw, sql } from './query.ts';
import { keptSince } from './retention.ts';
import type { Outcome } from '../../media/policy/types.ts';
import type { RequestState } from './records.ts';
import { timeOf } from './uuid.ts';
import { usageQuery, type Owners } from './statistics.ts';

export type LogState = Exclude<RequestState, 'open'>;
/** In alphabetical order, as a page is sorted by state. */
const STATES = ['error', 'success', 'with-errors'] as const satisfies readonly LogState[];
export type ToolState = 'success' | 'error' | 'skipped';
/** `skipped`: the request named no policy. */
export type PolicyState = Outcome | 'skipped';

/** Of the fields of a row. Absent or empty: all. */
interface Lists {
  type?: readonly RecordedKind[];
  status?: readonly LogState[];
  'status-ffprobe'?: readonly ToolState[];
  'status-mediainfo'?: readonly ToolState[];
  'status-probe-report'?: readonly ToolState[];
  'status-policy'?: readonly PolicyState[];
  /** Policy names. */
  policy?: readonly string[];
}

export interface LogFilter extends Lists {
  owners: Owners;
  /** Half-open: `from` is included, `to` is not. */
  period: { from: Date; to: Date };
  /** A substring of the displayed address, case-insensitive. */
  url?: string | null;
  /** The id of one. */
  request?: string | null;
}
export interface LogPage {
  filter: LogFilter;
  sort: { field: LogSort; order: 'asc' | 'desc' };
  offset: number;
  limit: number;
  /** `at-least`: what cannot be counted by the rollups is not counted. */
  total?: LogTotal;
}
export type LogTotal = 'exact' | 'at-least';

/** Of an error in a list. */
const LONGEST_ERROR = 300;

/** Of a request `q`. */
const KEY = { id: column<string>(), submittedAt: column<Date>() };
const tool = (name: string) => `coalesce(q.${name}, 'skipped')`;
const ROW = {
  ...KEY,
  kind: column<RecordedKind>(),
  state: column<LogState>(),
  ffprobe: column<ToolState>(tool('ffprobe_state')),
  mediainfo: column<ToolState>(tool('mediainfo_state')),
  report: column<ToolState>(tool('report_state')),
  policy: column<PolicyState>(tool('policy_outcome')),
  policyName: column<string | null>(),
  policyRevision: column<number | null>(),
  display: column<string>(),
  userId: column<number>(),
  tokenId: column<number>(),
  /** What the caller was told, its beginning in a list; null for a success. */
  error: column<string | null>(`left(q.error, ${LONGEST_ERROR})`),
  /** Of media, by content checks. */
  decodedSeconds: column<number>('coalesce(q.decoded_seconds, 0)'),
};
export type LogRow = RecordOf<typeof ROW>;
const KEY_COLUMNS = selected(KEY, 'q');
const ROW_COLUMNS = selected(ROW, 'q');

const DETAIL = {
  ...ROW,
  error: column<string | null>(),
  request: column<unknown>(),
  hasBody: column<boolean>(),
  inflatedBytes: column<number | null>(),
  /** Null: it was never admitted. */
  startedAt: column<Date | null>(),
  endedAt: column<Date>(),
};
export type LogDetail = RecordOf<typeof DETAIL>;
const DETAIL_COLUMNS = selected(DETAIL, 'q');

/**
 * For a larger offset, or a period of more days, the rollups narrow the search: each monthly partition costs about a
 * millisecond.
 */
const DEEP = 200;
const MANY_DAYS = 32;
/** Longer pages and smaller offsets read whole rows directly. */
const FEW_ROWS = 100;
/** For more users than this the rows come from the index over all users. */
const FEW_USERS = 50;

export const LOG_SORTS = {
  send: 'submitted_at',
  'user-id': 'user_id',
  url: 'display',
  status: 'state',
  'status-ffprobe': tool('ffprobe_state'),
  'status-mediainfo': tool('mediainfo_state'),
  'status-probe-report': tool('report_state'),
  'status-policy': tool('policy_outcome'),
};
export type LogSort = keyof typeof LOG_SORTS;
const COLUMN = { ...LOG_SORTS, type: 'kind', policy: 'policy_name' };

/** Those that the rollups cannot count by. */
const UNCOUNTED = ['status-ffprobe', 'status-mediainfo', 'status-probe-report', 'status-policy', 'policy'] as const;

/** All conditions except the users, which are placed where the plan needs them. */
function conditions(filter: LogFilter): Sql {
  const { owners, period, type = [], status = [], url = null, request = null } = filter;
  const some = (name: keyof Lists, values: readonly string[]) =>
    values.length === 0 ? [] : [sql`${raw(COLUMN[name])} = any(${values}::text[])`];
  return allOf([
    sql`submitted_at >= ${period.from} and submitted_at < ${period.to}`,
    // Listed explicitly: these states are indexed, and the planner does not prove that `<> 'open'` excludes the index
    // of open rows.
    ...some('status', status.length === 0 ? ['success', 'with-errors', 'error'] : status),
    ...(owners.tokenIds === null ? [] : [sql`token_id = any(${owners.tokenIds}::bigint[])`]),
    ...some('type', type),
    ...UNCOUNTED.flatMap((name) => some(name, filter[name] ?? [])),
    ...(url === null ? [] : [sql`display ilike ${`%${url.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`]),
    ...(request === null ? [] : [sql`id = ${request}::uuid`]),
  ]);
}

const ofUsers = ({ userIds }: Owners): Sql[] =>
  userIds === 'everyone'
    ? []
    : userIds.length === 1
      ? [sql`user_id = ${userIds[0]}::bigint`]
      : [sql`user_id = any(${userIds}::bigint[])`];

const matching = (filter: LogFilter): Sql => allOf([...ofUsers(filter.owners), conditions(filter)]);

function pageQuery({ filter, sort, offset, limit }: LogPage): Query {
  const { userIds } = filter.owners;
  const order = raw(
    sort.field === 'send'
      ? `submitted_at ${sort.order}, id ${sort.order}`
      : `${COLUMN[sort.field]} ${sort.order}, submitted_at desc, id desc`,
  );
  // The first rows of each user, in the order of the user's index: no later row can be on the page.
  const each =
    userIds !== 'everyone' &&
    userIds.length > 1 &&
    userIds.length <= FEW_USERS &&
    sort.field === 'send' &&
    offset < DEEP;
  // With a large offset and few rows, index-only scans select the ids, and only these rows are read. A look-up by key
  // costs about 0.1 ms (each monthly partition is probed), so a long page is read directly.
  const looksUp = limit <= FEW_ROWS && (offset > FEW_ROWS || sort.field !== 'send');
  const columns = looksUp ? KEY_COLUMNS : ROW_COLUMNS;
  const found = each
    ? sql`select r.* from unnest(${userIds}::bigint[]) u (id) cross join lateral (
        select ${columns} from requests q where q.user_id = u.id and ${conditions(filter)}
          order by ${order} limit ${offset + limit}) r
      order by "submittedAt" ${raw(sort.order)}, id ${raw(sort.order)}`
    : sql`select ${columns} from requests q where ${matching(filter)} order by ${order}`;
  const page = sql`${found} limit ${limit} offset ${offset}`;
  const text = looksUp
    ? // `offset 0` keeps the planner from turning the look-up into a join that reads whole months.
      sql`with page as materialized (select id, "submittedAt", row_number() over () n from (${page}) s)
        select r.* from page p cross join lateral (
          select ${ROW_COLUMNS} from requests q
            where q.id = p.id and q.submitted_at = p."submittedAt" offset 0) r
          order by p.n`
    : page;
  return { ...query('log_page')`${text}`, prepared: false };
}

const countQuery = (filter: LogFilter): Query => ({
  ...query('log_count')`select count(*)::float8 n from requests q where ${matching(filter)}`,
  prepared: false,
});

/** Whether the rollups can count these requests. */
const isCounted = ({ url = null, request = null, ...filter }: LogFilter): boolean =>
  UNCOUNTED.every((name) => !filter[name]?.length) && url === null && request === null;

/** One count for each of `states`, per day if the page needs it. */
async function countedBy(
  database: Database,
  { owners, type: kinds = [] }: LogFilter,
  states: readonly LogState[],
  range: Range,
  byDay: boolean,
): Promise<Counted[]> {
  const measures = states.map((state) => crossed(kinds, state));
  const asking = usageQuery(`log_${[...kinds].sort().join('')}_${states.join('')}`, measures, owners, range, {
    unit: byDay ? 'day' : null,
    coarsest: cover(range, 'day', (await keptSince(database)).minutes),
  });
  if (!asking) return [];
  const sums = new Map<number, number[]>();
  for (const [, at, ...counts] of await database.rows<[number, number | null, ...number[]]>(asking)) {
    const so = sums.get(at ?? 0);
    sums.set(at ?? 0, so ? so.map((count, index) => count + (counts[index] ?? 0)) : counts);
  }
  return [...sums].map(([at, counts]) => ({ at, counts })).sort((a, b) => a.at - b.at);
}

const readPage = (database: Database, page: LogPage): Promise<LogRow[]> => database.rows<LogRow>(pageQuery(page));

/** An ended request of one of these users. */
export function readLog(database: Database, id: string, userIds: Owners['userIds']): Promise<LogDetail | null> {
  const time = timeOf(id);
  const users = userIds === 'everyone' ? null : userIds;
  const asked = sql`
    select ${DETAIL_COLUMNS} from requests q
      where q.id = ${id} and q.state <> 'open' and (${users}::bigint[] is null or q.user_id = any(${users}))`;
  return database.first<LogDetail>(
    time === null ? query('log_untimed')`${asked}` : query('log_timed')`${asked} and q.submitted_at = ${time}`,
  );
}

export interface LogList {
  rows: LogRow[];
  total: number;
  totalIs: LogTotal;
}

/** A page of ended requests, and the total, or a lower bound of it if that is enough. */
export async function listLog(database: Database, page: LogPage): Promise<LogList> {
  const { filter } = page;
  if (filter.owners.userIds !== 'everyone' && filter.owners.userIds.length === 0)
    return { rows: [], total: 0, totalIs: 'exact' };
  // Older requests have been deleted.
  const from = Math.max(filter.period.from.getTime(), (await keptSince(database)).requests);
  const range = { from, to: Math.max(from, filter.period.to.getTime()) };
  const period = { from: new Date(range.from), to: new Date(range.to) };
  const kept: LogPage = { ...page, filter: { ...filter, period } };
  return isCounted(filter) ? listCounted(database, kept, range) : listUncounted(database, kept);
}

async function listUncounted(database: Database, page: LogPage): Promise<LogList> {
  const { filter, offset, limit } = page;
  if (page.total === 'at-least') {
    const rows = await readPage(database, { ...page, limit: limit + 1 });
    const isMore = rows.length > limit;
    // A page behind the last row says nothing of how many there are.
    if (rows.length > 0 || offset === 0)
      return { rows: rows.slice(0, limit), total: offset + rows.length, totalIs: isMore ? 'at-least' : 'exact' };
  }
  const [rows, { n }] = await Promise.all([readPage(database, page), database.one<{ n: number }>(countQuery(filter))]);
  return { rows, total: n, totalIs: 'exact' };
}

/** `range`: the period of the page. */
async function listCounted(database: Database, page: LogPage, range: Range): Promise<LogList> {
  const { filter, sort, offset, limit } = page;
  // In sort order if the page is sorted by state.
  const wanted = STATES.filter((state) => !filter.status?.length || filter.status.includes(state));
  const states = sort.order === 'desc' && sort.field === 'status' ? wanted.toReversed() : wanted;
  const seeks =
    sort.field === 'status' ||
    (sort.field === 'send' && (offset >= DEEP || range.to - range.from > MANY_DAYS * SIZE.day));
  const counting = countedBy(database, filter, states, range, seeks);
  const totalOf = (days: readonly Counted[]) =>
    days.reduce((sum, { counts }) => sum + counts.reduce((a, b) => a + b, 0), 0);
  if (!seeks) {
    const [rows, days] = await Promise.all([readPage(database, page), counting]);
    return { rows, total: totalOf(days), totalIs: 'exact' };
  }
  const days = await counting;
  const total = totalOf(days);
  const order = sort.field === 'send' ? sort.order : 'desc';
  const byState = sort.field === 'status' ? states.map((_, index) => index) : null;
  const parts = slices(days, range, { offset, limit, order, byState }).map(({ state, range: part, ...place }) =>
    readPage(database, {
      ...place,
      filter: {
        ...filter,
        period: { from: new Date(part.from), to: new Date(part.to) },
        ...(state === null ? {} : { status: [states[state]!] }),
      },
      sort: { field: 'send', order },
    }),
  );
  const rows = (await Promise.all(parts)).flat();
  // The rollups still count an erased user for a while. If rows are missing, the page is read without rollups.
  return {
    rows: rows.length < Math.min(limit, total - offset) ? await readPage(database, page) : rows,
    total,
    totalIs: 'exact',
  };
}

/** Number of requests per state submitted on one day. */
export interface Counted {
  at: number;
  counts: readonly number[];
}
/** A part of a page: rows of one state, or of all (null), in order of time. */
export interface Slice {
  state: number | null;
  range: Range;
  offset: number;
  limit: number;
}

/**
 * The days that hold `limit` rows from `offset` on, and the offset within the first of them; null if there are none.
 */
export function seek(
  days: readonly { at: number; count: number }[],
  range: Range,
  { offset, limit, order }: { offset: number; limit: number; order: 'asc' | 'desc' },
): { range: Range; offset: number } | null {
  const held = (order === 'asc' ? days : days.toReversed()).filter(({ count }) => count > 0);
  let left = offset;
  const first = held.findIndex(({ count }) => left < count || ((left -= count), false));
  if (first < 0 || limit <= 0) return null;
  let seen = -left;
  const last = held.findIndex(({ count }, index) => index >= first && (seen += count) >= limit);
  const [near, far] = [held[first]!.at, last < 0 ? null : held[last]!.at];
  // A request that ends meanwhile may belong to any day, so the range stays open if the counted rows run out.
  const [from, to] =
    order === 'asc' ? [near, far === null ? range.to : far + SIZE.day] : [far ?? range.from, near + SIZE.day];
  return { range: { from: Math.max(range.from, from), to: Math.min(range.to, to) }, offset: left };
}

/**
 * Splits a page into slices of few days. `byState`: the order of states for a page sorted by state; null treats all
 * states as one. Pure.
 */
export function slices(
  days: readonly Counted[],
  range: Range,
  {
    offset,
    limit,
    order,
    byState,
  }: { offset: number; limit: number; order: 'asc' | 'desc'; byState: readonly number[] | null },
): Slice[] {
  const parts = byState ?? [null];
  let skip = offset;
  let left = limit;
  return parts.flatMap((state): Slice[] => {
    const these = days.map(({ at, counts }) => ({
      at,
      count: state === null ? counts.reduce((sum, count) => sum + count, 0) : (counts[state] ?? 0),
    }));
    const total = these.reduce((sum, { count }) => sum + count, 0);
    const wanted = Math.min(left, Math.max(0, total - skip));
    const place = seek(these, range, { offset: skip, limit: wanted, order });
    skip = Math.max(0, skip - total);
    if (!place) return [];
    left -= wanted;
    return [{ state, ...place, limit: wanted }];
  });
}
