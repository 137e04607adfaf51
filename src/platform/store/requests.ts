/** The life cycle of a request in the record: opened, closed once, read back. */
import { randomUUID } from 'node:crypto';
import { CACHED, type Kind, type Reason } from '../kube/probe_job.ts';
import type { Outcome } from '../../media/policy/types.ts';
import type { Database } from './connection.ts';
import { column, selected, type RecordOf } from './columns.ts';
import { StoreError } from './errors.ts';
import { calling } from './function_call.ts';
import { query, sql } from './query.ts';
import type {
  CloseInput,
  MonthlyLimits,
  Opened,
  OpenInput,
  Quota,
  Rate,
  RequestState,
  TokenRecord,
  ToolEnd,
} from './records.ts';
import { bigint, integer, jsonb, smallint, timestamp } from './storable.ts';
import { timeOf } from './uuid.ts';

const RECORD = {
  id: column<string>(),
  submittedAt: column<Date>(),
  tokenId: column<number>(),
  userId: column<number>(),
  // Those that were answered from the cache are read as what they were asked as.
  kind: column<Kind>(`case kind when '${CACHED}' then 'file' else kind end`),
  display: column<string>(),
  state: column<RequestState>(),
  status: column<number | null>(),
  reason: column<Reason | null>(),
  error: column<string | null>(),
  // Of the first tool that failed, as the error is.
  code: column<string | null>(`jsonb_path_query_first(tools, '$[*].code') #>> '{}'`),
  queueTimeMs: column<number | null>(),
  request: column<unknown>(),
  hasBody: column<boolean>(),
  /** Size of the inflated body; null if there is none. */
  inflatedBytes: column<number | null>(),
  ioBytes: column<number>('coalesce(io_bytes, 0)'),
  endedAt: column<Date | null>(),
  /** Null: no policy was requested, or the request has not ended. */
  policyOutcome: column<Outcome | null>(),
  /** The request whose result answered this one; null: its own did, or its user may not read that request. */
  cachedFrom: column<string | null>('case when cache_named then cached_from end'),
  /** How long before the file was read, in seconds. Null: its own result answered it. */
  cacheAgeS: column<number | null>(),
};
export type RequestRecord = RecordOf<typeof RECORD>;

/** The end of a request without its body, for waiting API replicas. */
const END = {
  id: RECORD.id,
  submittedAt: RECORD.submittedAt,
  state: column<Exclude<RequestState, 'open'>>(),
  status: column<number>('coalesce(status, 500)'),
  reason: column<Reason>(`coalesce(reason, 'InternalError')`),
  error: RECORD.error,
  code: RECORD.code,
  queueTimeMs: column<number>('coalesce(queue_time_ms, 0)'),
  hasBody: RECORD.hasBody,
  inflatedBytes: RECORD.inflatedBytes,
  ioBytes: RECORD.ioBytes,
  cachedFrom: RECORD.cachedFrom,
  cacheAgeS: RECORD.cacheAgeS,
  policyName: column<string | null>(),
  policyRevision: column<number | null>(),
  policyOutcome: RECORD.policyOutcome,
};
export type RecordedEnd = RecordOf<typeof END>;

/** An open row, for the sweep. */
const OPEN_ROW = { id: RECORD.id, submittedAt: RECORD.submittedAt, queueTimeoutMs: column<number>() };
export type OpenRow = RecordOf<typeof OPEN_ROW>;

const OPENED = {
  outcome: column<Opened['outcome']>(),
  firstId: column<string | null>(),
  remaining: column<number>(),
  resetMs: column<number>(),
  retryAfterMs: column<number | null>(),
  exceeded: column<keyof MonthlyLimits | null>(),
};
const RATE = {
  allowed: column<boolean>(),
  remaining: column<number>(),
  resetMs: column<number>(),
  retryAfterMs: column<number>(),
};
const CLOSED = { closed: column<boolean>(), waiter: column<string | null>(), queueTimeMs: column<number>() };
export type CloseResult = RecordOf<typeof CLOSED>;

const READ = sql`select ${selected(RECORD)} from requests`;
const ENDS = sql`select ${selected(END)} from requests`;
const OPEN_ROWS = sql`select ${selected(OPEN_ROW)} from requests`;

/** Bodies are stored uncompressed by Postgres (storage external), so reading a slice costs only its own size. */
const BODY_SLICE = 256 * 1024;

/** State of a requested tool, for the log's filters: of several runs, the worst. */
const toolState = (tools: ToolEnd[], name: ToolEnd['name']) => {
  const runs = tools.filter((end) => end.name === name);
  return runs.length === 0 ? null : runs.every(({ success }) => success) ? 'success' : 'error';
};

/**
 * A UUIDv7 contains the time that selects its partition. Other ids (created by hand) are looked up in all partitions.
 */
function byPartition(ids: string[]): { timed: string[]; from: Date; to: Date; untimed: string[] } {
  const times = ids.map((id) => timeOf(id));
  const known = times.filter((time) => time !== null).map(Number);
  return {
    timed: ids.filter((_, index) => times[index] !== null),
    from: new Date(known.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER / 2)),
    to: new Date(known.reduce((a, b) => Math.max(a, b), 0)),
    untimed: ids.filter((_, index) => times[index] === null),
  };
}

/** Those of a request that decodes nothing. */
const withoutDecoding = (of: readonly Quota[]): Quota[] =>
  of.flatMap((quota) => {
    const { 'decoded-seconds': _, ...limits } = quota.limits;
    return Object.keys(limits).length === 0 ? [] : [{ ...quota, limits }];
  });

const decodes = ({ tools }: Pick<OpenInput, 'tools'>): boolean => tools.some(({ name }) => name === 'qc');

/** Of open_request. */
export function openingValues(input: OpenInput) {
  const { idempotency, quotas: given } = input;
  const quotas = given && { ...given, of: decodes(input) ? given.of : withoutDecoding(given.of) };
  const applies = quotas !== undefined && quotas.of.length > 0;
  return {
    id: input.id,
    submitted_at: input.submittedAt,
    token_id: input.tokenId,
    user_id: input.userId,
    kind: input.kind,
    display: input.display,
    scheme: input.scheme,
    request: jsonb(input.request),
    tools: jsonb(input.tools),
    queue_timeout_ms: integer(input.queueTimeoutMs),
    timeout_ms: integer(input.timeoutMs),
    waiter: input.waiter,
    webhook_url: input.webhookUrl,
    key: idempotency?.key ?? null,
    body_sha256: idempotency?.bodySha256 ?? null,
    per_minute: input.requestsPerMinute,
    quotas: applies ? jsonb(quotas.of) : null,
    root_id: applies ? quotas.rootUserId : null,
  };
}

export async function openRequest(database: Database, input: OpenInput): Promise<Opened> {
  const call = { ...calling('open_request', openingValues(input), OPENED), held: true };
  const opened = await database.one<RecordOf<typeof OPENED>>(call);
  const { outcome, remaining, resetMs, retryAfterMs, firstId, exceeded } = opened;
  const rate: Rate = { limit: input.requestsPerMinute, remaining, resetMs };
  if (outcome === 'rate-limited') return { outcome, rate, retryAfterMs: retryAfterMs ?? 0 };
  if (outcome === 'repeated') return { outcome, rate, id: firstId ?? '' };
  return outcome === 'over-quota' ? { outcome, rate, exceeded: exceeded ?? 'request-count' } : { outcome, rate };
}

/** A look, for what costs much before its request is opened; opening it judges again. */
export async function usedUpQuota(
  database: Database,
  { tokenId, userId, quotas }: Pick<OpenInput, 'tokenId' | 'userId'> & { quotas: NonNullable<OpenInput['quotas']> },
): Promise<keyof MonthlyLimits | null> {
  const of = withoutDecoding(quotas.of);
  if (of.length === 0) return null;
  // The function judges a request that is there already, and tells how many more there may be.
  return database.value<keyof MonthlyLimits | null>(query('used_up_quota')`
    select case when exceeded is null and nearest < 1 then 'request-count' else exceeded end exceeded
      from quota_exceeded(${jsonb(of)}, ${tokenId}, ${userId}, ${quotas.rootUserId},
        date_trunc('month', now(), 'UTC'))`);
}

/** Seconds of media that the content checks of a token may still decode this month; null: no quota limits them. */
export async function decodableSeconds(
  database: Database,
  { id, userId, rootUserId, quotas }: Pick<TokenRecord, 'id' | 'userId' | 'rootUserId' | 'quotas'>,
): Promise<number | null> {
  if (!quotas.some(({ limits }) => limits['decoded-seconds'] !== undefined)) return null;
  return database.value<number | null>(query('decoded_left')`
    select decoded_left(${jsonb(quotas)}, ${id}, ${userId}, ${rootUserId}, date_trunc('month', now(), 'UTC'))::float8`);
}

/** Frees the idempotency key, unless another request has taken it since. */
export const releaseKey = (database: Database, tokenId: number, key: string, requestId: string): Promise<void> =>
  database.run(query('release_key')`
    delete from idempotency where token_id = ${tokenId} and key = ${key} and request_id = ${requestId}`);

/**
 * Counts a call that opens no request: an invalid probe call (scope `token`), or by the root user of an account a
 * management call (`user`), a policy that is saved (`policy`), or a reader of one of its links (`link`).
 */
export async function takeRate(
  database: Database,
  scope: 'token' | 'user' | 'policy' | 'link',
  id: number,
  perMinute: number,
): Promise<{ allowed: boolean; rate: Rate; retryAfterMs: number }> {
  const taken = { ...calling('take_rate', { scope, id, per_minute: perMinute }, RATE), held: true };
  const { remaining, resetMs, ...rest } = await database.one<RecordOf<typeof RATE>>(taken);
  return { ...rest, rate: { limit: perMinute, remaining, resetMs } };
}

/**
 * `closed`: this call closed the row, even if its first response was lost with the connection. Otherwise the
 * request had already ended (waiter and queue time are the recorded ones, so a lost notice can be sent again), or
 * it does not exist (both empty).
 */
export function closeRequest(database: Database, input: CloseInput): Promise<CloseResult> {
  const { report, timeline, tools, identity, decodedSeconds = 0, usedMs = 0 } = input;
  const beside = (report?.usageMs ?? 0) + (timeline?.usageMs ?? 0) + usedMs;
  return database.one<CloseResult>(
    calling(
      'close_request',
      {
        id: input.id,
        submitted_at: input.submittedAt,
        state: input.state,
        status: smallint(input.status),
        reason: input.reason,
        error: input.error,
        attempt: smallint(input.attempt),
        started_at: timestamp(input.startedAt),
        tools: jsonb(tools),
        ffprobe_state: toolState(tools, 'ffprobe'),
        mediainfo_state: toolState(tools, 'mediainfo'),
        report_state: report === undefined ? null : report.success ? 'success' : 'error',
        usage_ms: integer(tools.reduce((sum, { usageMs }) => sum + usageMs, beside)),
        io_bytes: bigint(input.ioBytes),
        body: input.body,
        closer: randomUUID(),
        inflated_bytes: input.inflatedBytes === undefined ? null : integer(input.inflatedBytes),
        policy_outcome: input.policy ?? null,
        identity: identity ?? null,
        decoded_seconds: decodedSeconds > 0 ? integer(decodedSeconds) : null,
      },
      CLOSED,
    ),
  );
}

/** With a user: only requests of that user and of all accounts below, as in usersUnder (users.ts). */
export function readRequest(
  database: Database,
  id: string,
  { userId }: { userId: number | null } = { userId: null },
): Promise<RequestRecord | null> {
  const time = timeOf(id);
  const asked = sql`
    ${READ} where id = ${id} and (${userId}::bigint is null or user_id = ${userId} or exists (
      select from users u
        where u.id = user_id and (u.parent_ids @> array[${userId}::bigint] or u.root_id = ${userId})))`;
  return database.first<RequestRecord>(
    time === null ? query('read_untimed')`${asked}` : query('read_timed')`${asked} and submitted_at = ${time}`,
  );
}

interface Place {
  id: string;
  submittedAt: Date;
}

/** The request that has the body of one that was answered from the cache; null: none other has it. */
async function bodyElsewhere(database: Database, { id, submittedAt }: Place): Promise<Place | null> {
  const from = await database.valueOrNull<string>(query('cached_from')`
    select cached_from from requests where id = ${id} and submitted_at = ${submittedAt} and erased_at is null`);
  const time = from === null ? null : timeOf(from);
  return from === null || time === null ? null : { id: from, submittedAt: time };
}

const bodyAt = (database: Database, { id, submittedAt }: Place): Promise<Buffer | null> =>
  database.valueOrNull<Buffer>(query('read_body')`
    select body from envelopes where id = ${id} and submitted_at = ${submittedAt}`);

/** The stored ResultBody, zstd-compressed, as the runner sent it. */
export async function readBody(database: Database, id: string, submittedAt: Date): Promise<Buffer | null> {
  const own = await bodyAt(database, { id, submittedAt });
  if (own) return own;
  const other = await bodyElsewhere(database, { id, submittedAt });
  return other && bodyAt(database, other);
}

const sliceAt = (database: Database, { id, submittedAt }: Place, from: number): Promise<Buffer | null> =>
  database.valueOrNull<Buffer>(query('read_body_slice')`
    select substr(body, ${from}, ${BODY_SLICE}) from envelopes where id = ${id} and submitted_at = ${submittedAt}`);

/** The same in slices: pg briefly holds five times the size of what it reads. Throws if the body was deleted. */
export async function* readBodySlices(
  database: Database,
  id: string,
  submittedAt: Date,
): AsyncGenerator<Buffer, void, undefined> {
  let place: Place = { id, submittedAt };
  for (let from = 1; ; from += BODY_SLICE) {
    let slice = await sliceAt(database, place, from);
    if (!slice && from === 1) {
      place = (await bodyElsewhere(database, place)) ?? place;
      slice = await sliceAt(database, place, from);
    }
    if (!slice) throw new StoreError('not-ready', `read_body_slice: the body of ${id} is gone`);
    if (slice.length > 0) yield slice;
    if (slice.length < BODY_SLICE) return;
  }
}

/** Before the first of a list by time and id. */
export const BEFORE_ALL: Place = { id: '00000000-0000-0000-0000-000000000000', submittedAt: new Date(0) };

/** Requests without an end that were submitted before `before`, oldest first, behind the one at `after`. */
export const openRows = (database: Database, after: Place, before: Date, limit: number): Promise<OpenRow[]> =>
  database.rows<OpenRow>(query('open_rows')`
    ${OPEN_ROWS}
      where state = 'open' and (submitted_at, id) > (${after.submittedAt}, ${after.id}) and submitted_at < ${before}
      order by submitted_at, id limit ${limit}`);

/** The recorded ends among the requests that a replica waits for. */
export async function endsFor(database: Database, ids: string[]): Promise<RecordedEnd[]> {
  const { timed, from, to, untimed } = byPartition(ids);
  const rows =
    timed.length === 0
      ? []
      : await database.rows<RecordedEnd>(query('closed_timed')`
        ${ENDS} where id = any(${timed}) and submitted_at between ${from} and ${to} and state <> 'open'`);
  if (untimed.length === 0) return rows;
  const others = await database.rows<RecordedEnd>(query('closed_untimed')`
    ${ENDS} where id = any(${untimed}) and state <> 'open'`);
  return [...rows, ...others];
}
