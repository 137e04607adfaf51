/** The log: ended requests in a list, and the end of one of them. */
import Type, { type Static } from 'typebox';
import { OUTCOMES } from '../../../media/policy/types.ts';
import { KINDS, type Kind } from '../../../platform/kube/probe_job.ts';
import type { LogRow, LogState, LogTotal, PolicyState, ToolState } from '../../../platform/store/log.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { addressesIn } from '../../result/kept_request.ts';
import { callerOf, type Context, uuidOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid, notFound } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import {
  anyOf,
  choice,
  closed,
  ids,
  LISTED,
  listEcho,
  listSchema,
  pageOf,
  oneOf,
  options,
  orNull,
  Pagination,
  sortBy,
  UUID,
} from '../http/request_fields.ts';
import { MAX_SHARED_NAME } from '../policies/asked_policy.ts';
import { ownersOf, timeRange, timesOf } from './query_filters.ts';
import { requestFields } from '../../../base/log.ts';
import { visibleUsers } from '../http/endpoint_access.ts';
import { deleteJob } from '../probe/job.ts';

const POLICY_STATES = [...OUTCOMES, 'skipped'] as const;
const STATES = ['success', 'error', 'with-errors'] as const;
const TOOL_STATES = ['success', 'error', 'skipped'] as const;
const TOTALS = ['exact', 'at-least'] as const satisfies readonly LogTotal[];
const DAY_MS = 86_400_000;

/** Counting a million requests by the state of a tool takes half a second. */
const LogPagination = options(
  {
    ...Pagination.properties,
    total: choice(
      TOTALS,
      'exact',
      'at-least: a total that takes long to count may be a lower bound, so that the rows come sooner; ' +
        '`pagination.total-is` of the answer tells which it is.',
    ),
  },
  'The page.',
);

const ListQuery = closed({
  type: anyOf<Kind>(KINDS, 'Requests of these kinds.'),
  status: anyOf<LogState>(STATES, 'Requests with this outcome. with-errors: some of the tools failed.'),
  'status-ffprobe': anyOf<ToolState>(
    TOOL_STATES,
    'Requests with this outcome of ffprobe; skipped: it was not requested. Of a comparison: error if any run failed.',
  ),
  'status-mediainfo': anyOf<ToolState>(TOOL_STATES, 'Requests with this outcome of mediainfo.'),
  'status-probe-report': anyOf<ToolState>(TOOL_STATES, 'Requests with this outcome of the report.'),
  'status-policy': anyOf<PolicyState>(
    POLICY_STATES,
    'Requests with this outcome of their policy; skipped: none was requested.',
  ),
  policy: Type.Array(Type.String({ minLength: 1, maxLength: MAX_SHARED_NAME, pattern: '^[^\\u0000]*$' }), {
    default: [],
    description: 'Requests that were judged by policies of these names.',
  }),
  send: timeRange('When they were sent.', '24 hours before `to`'),
  'user-id': ids('Requests of these users. Default: all that the caller can see.'),
  'token-id': ids('Requests with these tokens.'),
  url: orNull(
    Type.String({
      maxLength: 8192,
      pattern: String.raw`^[^\u0000]*$`,
      default: null,
      description: 'Part of the address as the log shows it; case-insensitive.',
    }),
  ),
  request: orNull(Type.String({ pattern: UUID, default: null, description: 'The id of one request.' })),
  pagination: LogPagination,
  sort: sortBy(
    ['send', 'user-id', 'url', 'status', 'status-ffprobe', 'status-mediainfo', 'status-probe-report', 'status-policy'],
    'send',
    'desc',
  ),
});

const toolState = oneOf(TOOL_STATES, { title: 'ToolState' });
export const LOG_ROW = {
  id: Type.String({ format: 'uuid' }),
  send: Type.String({ format: 'date-time' }),
  type: oneOf(KINDS, { title: 'Kind' }),
  status: oneOf(STATES, { title: 'LogState' }),
  'status-ffprobe': toolState,
  'status-mediainfo': toolState,
  'status-probe-report': toolState,
  'status-policy': oneOf(POLICY_STATES, { title: 'PolicyState' }),
  policy: orNull(Type.String({ description: 'The name of the policy; absent for an inline policy and for none.' })),
  'policy-revision': orNull(Type.Integer()),
  url: Type.String({
    description:
      'Without credentials; values of its query read REDACTED. Of a comparison of two sources: both, with ` and ` ' +
      'between them.',
  }),
  'user-id': Type.Integer(),
  'token-id': Type.Integer(),
  error: orNull(
    Type.String({ description: 'What the caller was told of a failure, in a list its first 300 characters.' }),
  ),
};
const LogRowSchema = Type.Object(LOG_ROW, { title: 'LoggedRow' });
const LogPage = Type.Object(
  {
    ...LISTED,
    'total-is': Type.Optional(
      oneOf(TOTALS, {
        description: 'Only if `pagination[total]=at-least` was requested. at-least: there may be more than `total`.',
      }),
    ),
  },
  { title: 'LogPage' },
);

export const rowOf = (row: LogRow): Static<typeof LogRowSchema> => ({
  id: row.id,
  send: row.submittedAt.toISOString(),
  type: row.kind,
  status: row.state,
  'status-ffprobe': row.ffprobe,
  'status-mediainfo': row.mediainfo,
  'status-probe-report': row.report,
  'status-policy': row.policy,
  policy: row.policyName,
  'policy-revision': row.policyRevision,
  url: addressesIn(row.display).join(' and '),
  'user-id': row.userId,
  'token-id': row.tokenId,
  error: row.error,
});

async function list(deps: Deps, ctx: Context): Promise<void> {
  const { store } = deps;
  const { pagination, sort, send, ...filter } = checkedBy(ListQuery, ctx);
  const asked = timesOf('send', send);
  const to = asked.to ?? new Date(Math.floor(store.clock.now()) + 1);
  const from = asked.from ?? new Date(to.getTime() - DAY_MS);
  if (from > to) throw invalid('send.from', 'must not be after send.to');
  const owners = await ownersOf(
    deps,
    callerOf(ctx),
    { userIds: filter['user-id'], tokenIds: filter['token-id'] },
    'visible',
  );
  const { rows, total, totalIs } = await store
    .listLog({
      filter: {
        owners,
        period: { from, to },
        kinds: filter.type,
        states: filter.status,
        ffprobe: filter['status-ffprobe'],
        mediainfo: filter['status-mediainfo'],
        report: filter['status-probe-report'],
        policy: filter['status-policy'],
        policyNames: filter.policy,
        url: filter.url === '' ? null : filter.url,
        id: filter.request,
      },
      sort,
      ...pageOf(pagination),
      total: pagination.total,
    })
    .catch((error: unknown) => {
      // Only queries without a suitable index take this long: addresses, or a sort order, over very many requests.
      if (isStoreError(error, 'timeout'))
        throw invalid('send', 'covers too many requests to search or sort; use a shorter time or filter by user');
      throw error;
    });
  ctx.body = {
    log: rows.map(rowOf),
    ...listEcho(
      { filter: { ...filter, created: { from: from.toISOString(), to: to.toISOString() } }, pagination, sort },
      { count: rows.length, total, ...(pagination.total === 'at-least' ? { 'total-is': totalIs } : {}) },
    ),
  };
}

export const logList = endpoint(
  'GET media/log',
  {
    id: 'listLog',
    summary: 'List finished requests',
    also: [404],
    query: ListQuery,
    description: 'Newest first; by default of the last 24 hours. `filter` echoes `send` as `created`.',
    answer: { description: 'A page of the log.', schema: listSchema('log', LogRowSchema, LogPage) },
  },
  list,
);

// Erases the stored data of one ended request before its retention ends.

const ONCE = { first: 1, longest: 1, attempts: 1 };

async function erase(deps: Deps, ctx: Context): Promise<void> {
  const id = uuidOf(ctx);
  const outcome = await deps.store.eraseRequest(id, (await visibleUsers(deps, callerOf(ctx))) ?? 'everyone');
  if (outcome === 'none') throw notFound();
  if (outcome === 'open') throw new ApiError('not-ended');
  // Its ProbeJob shows the source too. If this fails, the controller deletes the job a little later.
  await deleteJob(deps.kube, id, deps.settings.namespace, ONCE).catch((error: unknown) =>
    deps.log.warn({ err: error, ...requestFields({ id }) }, 'cannot delete the ProbeJob of an erased request'),
  );
  ctx.status = 204;
}

export const eraseLog = endpoint(
  'DELETE media/log/:id',
  {
    id: 'eraseLog',
    summary: 'Erase a request of the log',
    description:
      'Deletes the result, the address, the options, the error and the webhook of an ended request. Its row stays in ' +
      'the log with times, states, user and token, and statistics do not change. This cannot be undone.',
    params: { id: Type.String({ format: 'uuid', description: 'The request id.' }) },
    answer: { status: 204, description: 'Erased.' },
    errors: {
      404: 'The caller has no such request, or it was erased before.',
      409: 'The request is queued or running.',
    },
  },
  erase,
);
