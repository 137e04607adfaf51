/** The log: every request that has ended. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { call, changesMade, isFailure } from '../api/client.ts';
import type { Answer, Query } from '../../api_calls.ts';
import { type Asked, useAsked } from '../api/use_call.ts';
import { KINDS, LOG_STATES, POLICY_STATES, TOOL_STATES, type ToolState } from '../../api_types.ts';
import { statusColumn, strangerColumn, Table, timeColumn, useListing, type Column } from '../parts/table.tsx';
import { choices, FilterChoice, FilterText, oneOf, RangeFilter, rangeIn } from '../parts/filters.tsx';
import { type Names, tokenChoices, usersBy, useTokenNames, useUserNames } from '../parts/names.ts';
import { Await, Empty } from '../parts/states.tsx';
import { KIND_NAMES, Status } from '../parts/values.tsx';
import { hrefOf, usePlace } from '../router.ts';
import { may, useUser } from '../session.ts';
import { startAhead } from '../worker/open_answer.ts';

/** `by`: part of the address of the users who sent them. */
type LogQuery = NonNullable<Query<'GET media/log'>> & { by?: string };
type LogPage = Answer<'GET media/log'>;
type Row = LogPage['log'][number];

// Pages that are asked for before they are needed, and pages that were shown before. What was asked for ahead is no
// older than a slow answer would be; what was shown before is marked as old until it has been read again.

const FRESH_MS = 5_000;
const MOST_ANSWERS = 20;

interface Ahead {
  at: number;
  /** An answer from before a change is not used. */
  changes: number;
  answer: Promise<LogPage>;
}
const askedAhead = new Map<string, Ahead>();
const shown = new Map<string, LogPage>();

/** The oldest ones make room. */
function put<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_ANSWERS) return;
    map.delete(oldest);
  }
}

const isFresh = ({ at, changes }: Ahead): boolean => performance.now() - at < FRESH_MS && changes === changesMade();

const NOBODY: LogPage = {
  filter: {},
  log: [],
  pagination: { page: 1, limit: 1, total: 0, count: 0 },
  sort: { field: 'send', order: 'desc' },
};

async function logPage({ by = '', ...query }: LogQuery, signal?: AbortSignal): Promise<LogPage> {
  if (by === '') return call('GET media/log', { query, signal });
  const users = await usersBy(by);
  return users.length === 0 ? NOBODY : call('GET media/log', { query: { ...query, 'user-id': users }, signal });
}

function askAhead(query: LogQuery): void {
  const key = JSON.stringify(query);
  const there = askedAhead.get(key);
  if (there && isFresh(there)) return;
  const answer = logPage(query);
  put(askedAhead, key, { at: performance.now(), changes: changesMade(), answer });
  // The page asks again, and says what was wrong.
  answer.catch(() => askedAhead.delete(key));
}

async function read(key: string, query: LogQuery, signal: AbortSignal): Promise<LogPage> {
  const there = askedAhead.get(key);
  askedAhead.delete(key);
  const answer = there && isFresh(there) ? await there.answer : await logPage(query, signal);
  put(shown, key, answer);
  return answer;
}

interface NamesOfRows {
  tokens: Names;
  users: Names;
  /** Who reads: their own address is in no row. */
  own: number;
}

const TOOLS = (['ffprobe', 'mediainfo', 'probe-report'] as const).map(
  (name) => [name === 'probe-report' ? 'report' : name, (row: Row): ToolState => row[`status-${name}`]] as const,
);

const columnsOf = (rows: readonly Row[], { tokens, users, own }: NamesOfRows): readonly Column<Row>[] => [
  timeColumn('Sent', ({ send }) => send, { to: ({ id }) => hrefOf(`/requests/${id}`), sort: 'send' }),
  statusColumn('Outcome', ({ status }) => status, { why: ({ error }) => error, most: 160, sort: 'status' }),
  strangerColumn('Address', ({ url }) => url, { most: 120, sort: 'url', wide: true }),
  { title: 'Kind', text: ({ type }) => KIND_NAMES[type] },
  {
    title: 'Tools',
    show: (row) => (
      <ul class="also beside">
        {TOOLS.filter(([, of]) => of(row) !== 'skipped').map(([name, of]) => (
          <li key={name}>
            <Status of={of(row)} name={name} />
          </li>
        ))}
      </ul>
    ),
    text: (row) => TOOLS.map(([name, of]) => `${name} ${of(row)}`).join(', '),
  },
  statusColumn('Policy', (row) => row['status-policy'], { sort: 'status-policy' }),
  strangerColumn('Token', (row) => tokens.get(row['token-id']) ?? String(row['token-id']), { most: 40 }),
  ...(rows.some((row) => row['user-id'] !== own)
    ? [strangerColumn('User', (row: Row) => users.get(row['user-id']) ?? String(row['user-id']), { most: 40 })]
    : []),
  { title: 'Id', text: ({ id }) => id, hidden: true },
];

const SORTS = ['send', 'url', 'status', 'status-policy'] as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const FILTERS = ['find', 'user', 'type', 'status', 'ffprobe', 'mediainfo', 'report', 'policy', 'token'];

/** The exact total, which may take longer to count than a page to read. Null: not counted yet, or it cannot be. */
function useTotal(filter: LogQuery, { data, since }: Asked<LogPage>): number | null {
  const wanted = JSON.stringify(filter);
  const known = useRef<{ of: string; total: number | null }>(null);
  const key = since === null && data?.pagination['total-is'] === 'at-least' ? wanted : '';
  useAsked(key, async (signal) => {
    if (key === '' || known.current?.of === key) return;
    try {
      const { pagination } = await logPage({ ...filter, pagination: { limit: 1 } }, signal);
      known.current = { of: key, total: pagination.total };
    } catch (error) {
      // There may be too many to count: the page says that there are more.
      if (!isFailure(error)) throw error;
      known.current = { of: key, total: null };
    }
  });
  return known.current?.of === wanted ? known.current.total : null;
}

interface ListedProps {
  answer: LogPage;
  /** Null: as the answer says. */
  total: number | null;
  filtered: boolean;
  names: NamesOfRows;
  ahead: (page: number) => void;
}

function Listed({ answer: { log, pagination, sort }, total, filtered, names, ahead }: ListedProps) {
  return (
    <Table
      caption="Requests"
      columns={columnsOf(log, names)}
      rows={log}
      keyOf={({ id }) => id}
      echo={{ pagination: total === null ? pagination : { ...pagination, total, 'total-is': 'exact' }, sort }}
      ahead={ahead}
    >
      {filtered ? (
        <Empty title="No request matches">
          <p>Take a filter away, or choose a longer time.</p>
          <p>
            <a href={hrefOf('/requests')}>Without filters</a>
          </p>
        </Empty>
      ) : (
        <Empty title="No requests in this time">
          <p>Choose a longer time, or probe a file: it is listed here when it has ended.</p>
          <p>
            <a href={hrefOf('/playground')}>Open the playground</a>
          </p>
        </Empty>
      )}
    </Table>
  );
}

function filterIn(query: URLSearchParams) {
  const find = query.get('find') ?? '';
  const token = Number(query.get('token') ?? 0);
  return {
    send: rangeIn(query, 'day'),
    // An id finds its request, and everything else what stands in addresses.
    ...(UUID.test(find.trim()) ? { request: find.trim() } : { url: find }),
    type: oneOf(query.get('type'), KINDS),
    status: oneOf(query.get('status'), LOG_STATES),
    'status-ffprobe': oneOf(query.get('ffprobe'), TOOL_STATES),
    'status-mediainfo': oneOf(query.get('mediainfo'), TOOL_STATES),
    'status-probe-report': oneOf(query.get('report'), TOOL_STATES),
    'status-policy': oneOf(query.get('policy'), POLICY_STATES),
    'token-id': token > 0 ? [token] : [],
    by: query.get('user') ?? '',
  };
}

export function Requests() {
  const { query } = usePlace();
  const user = useUser();
  const { pagination, sort } = useListing(SORTS, 'send', 'desc');
  const pageOf = (filter: LogQuery, page: number): LogQuery => ({
    ...filter,
    sort,
    pagination: { ...pagination, page, total: 'at-least' },
  });
  const filter = filterIn(query);
  const wanted = pageOf(filter, pagination.page);
  const key = JSON.stringify(wanted);
  const asked = useAsked(key, (signal) => read(key, wanted, signal), shown.get(key));
  const askForPage = (page: number) => askAhead(pageOf(filter, page));
  const askForFirst = (other: URLSearchParams) => askAhead(pageOf(filterIn(other), 1));
  const total = useTotal(filter, asked);
  const filtered = FILTERS.some((name) => query.has(name));
  const ahead = useRef(askForPage);
  ahead.current = askForPage;
  const own = user.id;
  const tokens = useTokenNames();
  const users = useUserNames(asked.data?.log.map((row) => row['user-id']).filter((id) => id !== own) ?? []);
  // Drawn once for each answer, and not each time that the call changes its state.
  const listed = useMemo(
    () =>
      asked.data && (
        <Listed
          {...{ answer: asked.data, total, filtered, names: { tokens, users, own } }}
          ahead={(page) => ahead.current(page)}
        />
      ),
    [asked.data, total, filtered, tokens.size, users],
  );
  const isListed = listed !== undefined;
  useEffect(() => {
    if (isListed) startAhead();
  }, [isListed]);
  return (
    <>
      <search class="filters">
        <FilterText name="find" label="Address or id" placeholder="part of an address" />
        <RangeFilter byDefault="day" ahead={askForFirst} />
        <FilterChoice name="status" label="Outcome" values={choices(LOG_STATES)} ahead={askForFirst} />
        <FilterChoice
          name="type"
          label="Kind"
          values={[['', 'any'], ...KINDS.map((kind) => [kind, KIND_NAMES[kind]] as const)]}
          ahead={askForFirst}
        />
        <FilterChoice name="ffprobe" label="ffprobe" values={choices(TOOL_STATES)} ahead={askForFirst} />
        <FilterChoice name="mediainfo" label="mediainfo" values={choices(TOOL_STATES)} ahead={askForFirst} />
        <FilterChoice name="report" label="report" values={choices(TOOL_STATES)} ahead={askForFirst} />
        <FilterChoice name="policy" label="Policy" values={choices(POLICY_STATES)} ahead={askForFirst} />
        <FilterChoice name="token" label="Token" values={tokenChoices(tokens, 'any')} />
        {may(user, 'read:sub-user') && <FilterText name="user" label="User" placeholder="part of an e-mail address" />}
        {filtered && <a href={hrefOf('/requests')}>Clear all</a>}
      </search>
      <Await asked={asked} what="the requests">
        {() => listed}
      </Await>
    </>
  );
}
