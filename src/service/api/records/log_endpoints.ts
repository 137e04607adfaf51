/** The log: ended requests in a list, one of them with its options and outputs, and the end of it. */
import Type, { type Static } from 'typebox';
import { codeMember } from '../../../base/causes.ts';
import { requestFields } from '../../../base/log.ts';
import { OUTCOMES } from '../../../media/policy/types.ts';
import { probeReport } from '../../../media/tools/probe_report.ts';
import { FILE_ROWS, FILE_TOOLS, RESULTS, TOOL_TABLE, type ResultName } from '../../../media/tools/table.ts';
import { SIDES } from '../../../platform/bus/messages.ts';
import { outputsOf } from '../../../platform/bus/packing.ts';
import type { Output, ResultBody, ReportResult } from '../../../platform/bus/result_body.ts';
import { RECORDED_KINDS, type RecordedKind } from '../../../platform/kube/probe_job.ts';
import {
  LOG_SORTS,
  type LogRow,
  type LogSort,
  type LogState,
  type LogTotal,
  type PolicyState,
  type ToolState,
} from '../../../platform/store/log.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { comparisonOf, JSON_TYPE, runOf } from '../../result/answer.ts';
import { addressesIn, readKeptRequest, type KeptRequest } from '../../result/kept_request.ts';
import { joined, quoted, type Piece } from '../../result/pieces.ts';
import { callerOf, uuidOf } from '../http/request_context.ts';
import { ApiError, invalid, notFound } from '../errors.ts';
import { withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { visibleUsers } from '../http/endpoint_access.ts';
import {
  anyOf,
  choice,
  closed,
  component,
  containing,
  ids,
  LISTED,
  listAnswer,
  listSchema,
  pageOf,
  oneOf,
  options,
  orNull,
  Pagination,
  sortBy,
  STORABLE,
  time,
  UUID,
} from '../http/request_fields.ts';
import { DECODED } from '../accounts/account_limits.ts';
import { MAX_SHARED_NAME } from '../policies/asked_policy.ts';
import { CAUSE_TEXT } from '../probe/answer_schemas.ts';
import { deleteJob } from '../probe/job.ts';
import { resultFor, sendPieces, waivedNow } from '../probe/stored_result.ts';
import { ownersOf, timeRange, timesOf } from './query_filters.ts';

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
  type: anyOf<RecordedKind>(RECORDED_KINDS, 'Requests of these kinds. cached: answered from the cache.'),
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
  policy: Type.Array(Type.String({ minLength: 1, maxLength: MAX_SHARED_NAME, pattern: STORABLE }), {
    default: [],
    description: 'Requests that were judged by policies of these names.',
  }),
  send: timeRange('When they were sent.', '24 hours before `to`'),
  'user-id': ids('Requests of these users. Default: all that the caller can see.'),
  'token-id': ids('Requests with these tokens.'),
  url: containing(8192, 'Part of the address as the log shows it; case-insensitive.'),
  request: orNull(Type.String({ pattern: UUID, default: null, description: 'The id of one request.' })),
  pagination: LogPagination,
  sort: sortBy(Object.keys(LOG_SORTS) as LogSort[], 'send', 'desc'),
});

const toolState = oneOf(TOOL_STATES, { title: 'ToolState' });
const LOG_ROW = {
  id: Type.String({ format: 'uuid' }),
  send: time(),
  type: oneOf(RECORDED_KINDS, { title: 'Kind' }),
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
  'decoded-seconds': Type.Integer({ description: DECODED }),
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

const rowOf = (row: LogRow): Static<typeof LogRowSchema> => ({
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
  'decoded-seconds': row.decodedSeconds,
});

export const logList = endpoint('GET media/log', {
  id: 'listLog',
  summary: 'List finished requests',
  also: [404],
  query: ListQuery,
  description: 'Newest first; by default of the last 24 hours. `filter` echoes `send` as `created`.',
  answer: { description: 'A page of the log.', schema: listSchema('log', LogRowSchema, LogPage) },
  async work(deps, ctx, { pagination, sort, send, ...filter }) {
    const { store } = deps;
    const asked = timesOf('send', send);
    const to = asked.to ?? new Date(Math.floor(store.clock.now()) + 1);
    const from = asked.from ?? new Date(to.getTime() - DAY_MS);
    if (from > to) throw invalid('send.from', 'must not be after send.to');
    const owners = await ownersOf(deps, callerOf(ctx), filter, 'visible');
    const { rows, total, totalIs } = await store
      .listLog({
        filter: {
          owners,
          period: { from, to },
          ...filter,
          url: filter.url === '' ? null : filter.url,
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
    const created = { from: from.toISOString(), to: to.toISOString() };
    const totals = { total, ...(pagination.total === 'at-least' ? { 'total-is': totalIs } : {}) };
    return listAnswer('log', rows.map(rowOf), { filter: { ...filter, created }, pagination, sort }, totals);
  },
});

// One request of the log, with its options and the output of each tool.

const text = (description: string) => orNull(Type.String({ description }));
const RESPONSE =
  'The output of the tool, unchanged; absent if it did not run, printed nothing, or the result has expired.';
const TYPE = 'The format of the output: json, or the requested format.';

const kebab = (name: ResultName): string => name.replaceAll('_', '-');
const memberOf = (name: ResultName): string => `${kebab(name)}-response`;
/** Tools with an endpoint of their own only print JSON, so their type is not listed. */
const TYPED: readonly ResultName[] = FILE_ROWS.filter((row) => !('endpoint' in row)).map(({ name }) => name);

const LoggedRequest = Type.Object(
  {
    ...LOG_ROW,
    admitted: orNull(time('When it was given a slot, and its tools started; absent if it never was.')),
    ended: time('When its end was recorded.'),
    request: Type.String({ description: 'The request as JSON, with the address as the log shows it.' }),
    'tool-errors': Type.Record(Type.String(), Type.String(), {
      description: 'By tool: why it failed. Empty if none failed, or the result has expired.',
    }),
    'tool-error-codes': Type.Record(Type.String(), Type.String(), {
      description: `By tool that failed: the code of its error. ${CAUSE_TEXT}`,
    }),
    'tool-exit-codes': Type.Record(Type.String(), Type.Integer(), {
      description: 'By tool that failed: its exit code, as a shell reports it. Absent for one that was not started.',
    }),
    ...Object.fromEntries(
      RESULTS.flatMap((name) => [
        [memberOf(name), text(RESPONSE)],
        ...(TYPED.includes(name) ? [[`${memberOf(name)}-type`, text(TYPE)]] : []),
      ]),
    ),
    'policy-response': text(
      'The verdict as it counts now, as JSON; absent if no policy was requested, or the result has expired.',
    ),
    'qc-waived': text('The findings of content checks that are waived now, as JSON; absent if none is.'),
    'run-responses': orNull(
      Type.Array(
        component('LoggedRun', {
          tool: Type.String(),
          version: Type.String(),
          side: Type.Optional(oneOf(SIDES, { description: 'Of two sources: which of them the tool read.' })),
          response: text(RESPONSE),
        }),
        {
          description: 'Of a request to `/v1/compare`: the output of each run. The members of single tools are absent.',
        },
      ),
    ),
    'comparison-response': text(
      'Of a request to `/v1/compare`: `runs`, `fields` and `summary` of its answer as JSON; absent for others, or ' +
        'if the result has expired.',
    ),
  },
  { title: 'LoggedRequest' },
);

type Options = KeptRequest['options'];

function formatOf(tool: ReportResult, asked: Options): string | null {
  if (tool.output === null) return null;
  if (tool.format === 'json') return 'json';
  const section = asked[tool.name] as Record<string, unknown> | undefined;
  const formats = tool.name === probeReport.name ? undefined : TOOL_TABLE[tool.name]?.formats;
  return section && formats ? formats.of(section) : 'text';
}

/** Includes a failed report and tools that ran only for it: the log records what happened. */
function responsesOf(result: ResultBody | null, asked: Options): Record<string, Output | string | null> {
  const tools = new Map<ResultName, ReportResult>(result?.tools.map((tool) => [tool.name, tool]));
  if (result?.report) tools.set(probeReport.name, result.report);
  const members = RESULTS.flatMap((name) => {
    const tool = tools.get(name);
    const response: [string, Output | null] = [memberOf(name), tool?.output ?? null];
    if (!TYPED.includes(name)) return [response];
    return [
      response,
      [`${memberOf(name)}-type`, tool ? formatOf(tool, asked) : null] satisfies [string, string | null],
    ];
  });
  return Object.fromEntries(members);
}

/** In a comparison each run tells its own. */
function failuresOf(result: ResultBody | null) {
  const results: ReportResult[] = [...(result?.tools ?? []), ...(result?.report ? [result.report] : [])];
  const failed = results.filter(({ error }) => error !== undefined);
  return {
    'tool-errors': Object.fromEntries(failed.map(({ name, error }) => [kebab(name), error])),
    'tool-error-codes': Object.fromEntries(
      failed.flatMap((tool) => Object.values(codeMember(tool)).map((code) => [kebab(tool.name), code])),
    ),
    'tool-exit-codes': Object.fromEntries(
      failed.flatMap(({ name, exitCode }) => (exitCode === null ? [] : [[kebab(name), exitCode]])),
    ),
  };
}

/** A comparison has an output for each version of a tool, or for each source. */
const runResponsesOf = ({ tools }: ResultBody) =>
  tools.map(({ name, version, side, output }) => ({
    tool: name,
    version,
    ...(side === undefined ? {} : { side }),
    response: output,
  }));

/** As the request named them. */
function addressOf(display: string): { url: string } | { urls: string[] } {
  const urls = addressesIn(display);
  return urls.length === 2 ? { urls } : { url: display };
}

/** As JSON text, in which an output is a string, and a field without a value is left out. */
function textOf(value: unknown, outputs: ReadonlySet<unknown>): Piece[] {
  if (outputs.has(value)) return quoted(value as Output);
  if (Array.isArray(value)) return ['[', ...separated(value.map((item) => textOf(item, outputs))), ']'];
  if (typeof value === 'object' && value !== null)
    return [
      '{',
      ...separated(
        Object.entries(value).flatMap(([name, member]) =>
          member === null ? [] : [[`${JSON.stringify(name)}:`, ...textOf(member, outputs)]],
        ),
      ),
      '}',
    ];
  return [JSON.stringify(value)];
}

const separated = (items: readonly Piece[][]): Piece[] =>
  items.flatMap((item, index) => (index === 0 ? item : [',', ...item]));

export const logDetail = endpoint('GET media/log/:id', {
  id: 'readLog',
  summary: 'Read a request of the log',
  also: [404],
  params: { id: Type.String({ format: 'uuid', description: 'The request id.' }) },
  description: 'Results expire before the log does; their responses are absent afterwards.',
  answer: { description: 'The request and its results.', schema: LoggedRequest },
  async work(deps, ctx) {
    const row = await deps.store.readLog(uuidOf(ctx), (await visibleUsers(deps, callerOf(ctx))) ?? 'everyone');
    if (!row) throw notFound();
    // The log is kept longer than the results.
    const { options: asked, response } = readKeptRequest(row);
    const read = waivedNow(deps, row, { ...response, shown: FILE_TOOLS });
    const stored = row.hasBody ? await resultFor(deps, ctx, row, read) : null;
    const { unpacked, waived = [] } = stored?.value ?? {};
    const { result, outputs } = unpacked ?? { result: null, outputs: null };
    const compared = row.kind === 'compare' ? result : null;
    const members = {
      ...rowOf(row),
      admitted: row.startedAt?.toISOString() ?? null,
      ended: row.endedAt.toISOString(),
      request: JSON.stringify({ ...addressOf(row.display), ...asked }),
      ...failuresOf(compared ? null : result),
      ...responsesOf(compared ? null : result, asked),
      'policy-response': result?.policy ? JSON.stringify(result.policy) : null,
      'qc-waived': waived.length > 0 ? JSON.stringify(waived) : null,
      'run-responses': compared && runResponsesOf(compared),
      'comparison-response':
        compared && JSON.stringify({ runs: compared.tools.map((tool) => runOf(tool)), ...comparisonOf(compared) }),
    };
    const named = new Set<unknown>(result ? outputsOf(result).map(({ output }) => output) : []);
    sendPieces(ctx, joined(textOf(members, named), outputs), stored?.packed ?? Buffer.alloc(0), JSON_TYPE);
  },
});

// Erases the stored data of one ended request before its retention ends.

const ONCE = { first: 1, longest: 1, attempts: 1 };

export const eraseLog = endpoint('DELETE media/log/:id', {
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
  async work(deps, ctx) {
    const id = uuidOf(ctx);
    const users = (await visibleUsers(deps, callerOf(ctx))) ?? 'everyone';
    await withEntry(deps, ctx, async (store) => {
      const outcome = await store.eraseRequest(id, users);
      if (outcome === 'none') throw notFound();
      if (outcome === 'open') throw new ApiError('not-ended');
    });
    // Its ProbeJob shows the source too. If this fails, the controller deletes the job a little later.
    await deleteJob(deps.kube, id, deps.settings.namespace, ONCE).catch((error: unknown) =>
      deps.log.warn({ err: error, ...requestFields({ id }) }, 'cannot delete the ProbeJob of an erased request'),
    );
  },
});
