/** The log: every request that has ended. */
import type { Answer } from '../api/client.ts';
import { useCall } from '../api/use_call.ts';
import { FilterChoice, FilterText, oneOf } from '../parts/filters.tsx';
import { RangeFilter, useRange } from '../parts/range.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Table, useListing, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOf, usePlace } from '../router.ts';

type Row = Answer<'GET media/log'>['log'][number];

const KINDS = ['file', 'msv', 'c2pa', 'compare'] as const;
const VERDICTS = ['pass', 'fail', 'warn', 'unknown', 'not-applicable', 'skipped'] as const;
const STATES = ['success', 'with-errors', 'error'] as const;
const TOOL_STATES = ['success', 'error', 'skipped'] as const;
const any = (values: readonly string[]) => [['', 'any'], ...values.map((value) => [value, value] as const)] as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Sent',
    show: ({ id, send }) => (
      <a href={hrefOf(`/requests/${id}`)}>
        <Time iso={send} />
      </a>
    ),
    text: ({ send }) => send,
    sort: 'send',
  },
  { title: 'Outcome', show: ({ status }) => <Status of={status} />, text: ({ status }) => status, sort: 'status' },
  { title: 'Address', show: ({ url }) => <Stranger text={url} most={120} />, text: ({ url }) => url, sort: 'url' },
  { title: 'Kind', show: ({ type }) => type, text: ({ type }) => type },
  ...(['ffprobe', 'mediainfo', 'probe-report'] as const).map((tool): Column<Row> => ({
    title: tool === 'probe-report' ? 'report' : tool,
    show: (row) => <Status of={row[`status-${tool}`]} />,
    text: (row) => row[`status-${tool}`],
    sort: `status-${tool}`,
  })),
  {
    title: 'Policy',
    show: (row) => <Status of={row['status-policy']} />,
    text: (row) => row['status-policy'],
    sort: 'status-policy',
  },
  { title: 'Token', show: (row) => row['token-id'], text: (row) => String(row['token-id']), right: true },
  { title: 'Id', show: ({ id }) => <code>{id}</code>, text: ({ id }) => id },
];

const SORTS = [
  'send',
  'url',
  'status',
  'status-ffprobe',
  'status-mediainfo',
  'status-probe-report',
  'status-policy',
] as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const FILTERS = ['find', 'type', 'status', 'ffprobe', 'mediainfo', 'report', 'policy', 'token'];

export function Requests() {
  const { query } = usePlace();
  const send = useRange('day');
  const listing = useListing(SORTS, 'send', 'desc');
  const find = query.get('find') ?? '';
  const token = Number(query.get('token') ?? 0);
  const asked = useCall('GET media/log', {
    query: {
      ...listing,
      send,
      // An id finds its request, and everything else what stands in addresses.
      ...(UUID.test(find.trim()) ? { request: find.trim() } : { url: find }),
      type: oneOf(query.get('type'), KINDS),
      status: oneOf(query.get('status'), STATES),
      'status-ffprobe': oneOf(query.get('ffprobe'), TOOL_STATES),
      'status-mediainfo': oneOf(query.get('mediainfo'), TOOL_STATES),
      'status-probe-report': oneOf(query.get('report'), TOOL_STATES),
      'status-policy': oneOf(query.get('policy'), VERDICTS),
      'token-id': token > 0 ? [token] : [],
    },
  });
  const filtered = FILTERS.some((name) => query.has(name));
  return (
    <>
      <search class="filters">
        <FilterText name="find" label="Address or id" placeholder="part of an address" />
        <RangeFilter byDefault="day" />
        <FilterChoice name="status" label="Outcome" values={any(STATES)} />
        <FilterChoice name="type" label="Kind" values={any(KINDS)} />
        <FilterChoice name="ffprobe" label="ffprobe" values={any(TOOL_STATES)} />
        <FilterChoice name="mediainfo" label="mediainfo" values={any(TOOL_STATES)} />
        <FilterChoice name="report" label="report" values={any(TOOL_STATES)} />
        <FilterChoice name="policy" label="Policy" values={any(VERDICTS)} />
      </search>
      <Await asked={asked} what="the requests">
        {({ log, ...echo }) =>
          echo.pagination.total === 0 ? (
            <Empty title={filtered ? 'No request matches' : 'No requests in this time'}>
              <p>
                {filtered
                  ? 'Take a filter away, or choose a longer time.'
                  : 'Choose a longer time, or send a request with a token: it is listed here when it has ended.'}
              </p>
              <p>
                {filtered ? <a href={hrefOf('/requests')}>Without filters</a> : <a href={hrefOf('/tokens')}>Tokens</a>}
              </p>
            </Empty>
          ) : (
            <Table caption="Requests" columns={COLUMNS} rows={log} keyOf={({ id }) => id} echo={echo} />
          )
        }
      </Await>
    </>
  );
}
