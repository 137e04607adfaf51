/** Items of batches, each an ordinary request at a time: claimed, opened, settled with its request's end, listed. */
import type { Facet, Facets } from '../../media/policy/facets.ts';
import type { Outcome } from '../../media/policy/types.ts';
import type { Reason } from '../kube/probe_job.ts';
import type { EarlierRequest, ItemState } from './batches.ts';
import type { Database } from './connection.ts';
import { column, selected, type RecordOf } from './columns.ts';
import { calling } from './function_call.ts';
import { allOf, fixedLimit, query, sql } from './query.ts';
import type { OpenInput, RequestState } from './records.ts';
import { openingValues } from './requests.ts';
import { GONE_CODES, missObjects } from './sources.ts';
import { bigint, integer, jsonb, smallint } from './storable.ts';
import { timeOf } from './uuid.ts';

const ITEM = {
  n: column<number>(),
  ref: column<string | null>(),
  display: column<string>(),
  /** As in NewItem. */
  plain: column<boolean>(),
  state: column<ItemState>(),
  /** Requests that were opened for it. */
  tries: column<number>(),
  /** The last of them; before the first, that of an earlier batch. */
  requestId: column<string | null>(),
  submittedAt: column<Date | null>(),
  /** Not tried again before. Null: never tried. */
  notBefore: column<Date | null>(`nullif(not_before, '-infinity')`),
  status: column<number | null>(),
  reason: column<Reason | 'Unchanged' | null>(),
  code: column<string | null>(),
  policyOutcome: column<Outcome | null>(),
  /** Of its result. Null: none are known. */
  facets: column<Facets | null>(),
  /** Of all tries. */
  ioBytes: column<number>('coalesce(io_bytes, 0)'),
  endedAt: column<Date | null>(),
};
export type BatchItem = RecordOf<typeof ITEM>;
const LISTED = selected(ITEM);

/** An item that may be opened now. */
export interface Claimed {
  n: number;
  /** Of the request to open: from 1. */
  attempt: number;
  host: bigint;
  /** As in NewItem. */
  plain: boolean;
  sealed: Buffer;
  /** Of one that was not tried. */
  earlier: EarlierRequest | null;
}

export interface Claim {
  batch: string;
  /** Hosts at their limit. */
  full: readonly bigint[];
  /** Continues after this host; null: at the first one. */
  after: bigint | null;
  limit: number;
}

export interface ItemToOpen {
  n: number;
  /** From 1. */
  attempt: number;
  open: OpenInput;
}

export interface ItemsOpening {
  /** Of the driver (takeDriver). */
  epoch: number;
  batch: string;
  /** At least one; several share a ProbeJob. */
  items: readonly ItemToOpen[];
}
/** `not-driver`: another replica drives. `not-running`: the batch. `not-waiting`: an item, or not for this attempt. */
export type OpenedItems = 'opened' | 'over-quota' | 'not-driver' | 'not-running' | 'not-waiting';

/** A running item, whatever the state of its batch: for the driver's limits, and for a cancellation. */
export interface RunningItem {
  batch: string;
  n: number;
  host: bigint;
  token: number;
  /** -1: its user is erased. */
  account: number;
  requestId: string;
  submittedAt: Date;
}

/** A running item whose request has ended. */
export interface EndedItem {
  batch: string;
  n: number;
  attempt: number;
  requestId: string;
  submittedAt: Date;
  state: Exclude<RequestState, 'open'>;
  reason: Reason;
  code: string | null;
  status: number;
  policyOutcome: Outcome | null;
  ioBytes: number;
  /** As of ToolEnd, and those of its policy. */
  tagged: string | null;
  facets: Facets | null;
}

/** What the driver decided: its end, or another request after this time. `isTry`: false if the last one is none. */
export type Settled = EndedItem & { next: { to: 'end' } | { to: 'waiting'; afterMs: number; isTry: boolean } };

/** An item that waits, and of which no request can or need be made. */
export interface UnopenedItem {
  batch: string;
  n: number;
  attempt: number;
  state: 'error' | 'skipped';
  status: number | null;
  reason: NonNullable<BatchItem['reason']>;
  code: string | null;
}

export interface ItemsPage {
  batch: string;
  /** Of the last item of the page before; -1: the first page. */
  after: number;
  limit: number;
  state?: ItemState | undefined;
  /** As in BatchFound. */
  code?: string | undefined;
  /** It has these values; of the next LOOKED_AT items alone, as no index has them. */
  facets?: Partial<Record<Facet, string>> | undefined;
}

/** Items that one page looks at for facets: some tens of milliseconds. */
export const LOOKED_AT = 50_000;
/** Hosts that one claim looks at. */
const MOST_HOSTS = 100;
const RUNNING_AT_MOST = fixedLimit(10_000);
const FIRST_HOST = -(2n ** 63n);
const LAST_HOST = 2n ** 63n - 1n;

interface ClaimedRow extends Pick<Claimed, 'attempt' | 'plain' | 'sealed'> {
  last: string | null;
  hosts: number;
  n: number | null;
  host: string;
  earlierId: string | null;
  submittedAt: Date;
  turn: number;
}

/** Reads what may be opened now: one item of each host, then the next of each. */
export async function claimItems(
  database: Database,
  { batch, full, after, limit }: Claim,
): Promise<{ items: Claimed[]; after: bigint | null }> {
  const createdAt = timeOf(batch);
  // The first items of hosts in turn. A host is found by one step in an index, however many of its items wait before.
  const rows = await database.rows<ClaimedRow>(query('claim_items')`
    with recursive hosts (host, at) as (
      (select host, 1 from batch_items where batch_id = ${batch} and created_at = ${createdAt} and state = 'waiting'
        and host >= ${String(after === null ? FIRST_HOST : after + 1n)} order by host limit 1)
      union all
      select (select i.host from batch_items i
        where i.batch_id = ${batch} and i.created_at = ${createdAt} and i.state = 'waiting' and i.host > h.host
        order by i.host limit 1), h.at + 1
      from hosts h where h.host is not null and h.at < ${MOST_HOSTS}),
    due as (
      select h.host, i.*, row_number() over (partition by h.host order by i.not_before, i.n) turn
      from hosts h cross join lateral (
        select i.n, i.tries, i.plain, i.sealed, i.not_before, i.request_id, i.submitted_at from batch_items i
        where i.batch_id = ${batch} and i.created_at = ${createdAt} and i.state = 'waiting' and i.host = h.host
          and i.not_before <= now()
        order by i.not_before, i.n limit ${limit}) i
      where h.host <> all(${full.map(String)}::bigint[]))
    select looked.last, looked.hosts, first.*
      from (select max(host)::text as last, count(host) hosts from hosts) looked
      left join lateral (
        select due.host::text host, due.n, due.tries + 1 attempt, due.plain, due.sealed,
            case when due.tries = 0 then due.request_id end "earlierId", due.submitted_at "submittedAt", due.turn
          from due order by due.turn, due.host limit ${limit}) first on true
      order by first.turn, first.host::bigint`);
  const found = rows.filter(({ n }) => n !== null);
  const items = found.map(({ n, attempt, host, plain, sealed, earlierId: id, submittedAt }) => ({
    n: n!,
    attempt,
    host: BigInt(host),
    plain,
    sealed,
    earlier: id === null ? null : { id, submittedAt },
  }));
  const { last, hosts } = rows[0]!;
  // With more hosts than places, those after the last one are first next time.
  const isCut = items.length === limit && found.every(({ turn }) => turn === 1);
  const reached = isCut ? items.at(-1)!.host : last === null || hosts < MOST_HOSTS ? LAST_HOST : BigInt(last);
  return { items, after: reached === LAST_HOST ? null : reached };
}

/** All items run and their requests are open, or none. The requests differ in id, address and waiter alone. */
export function openItems(database: Database, { epoch, batch, items }: ItemsOpening): Promise<OpenedItems> {
  const { submitted_at, token_id, user_id, kind, request, tools, queue_timeout_ms, timeout_ms, quotas, root_id } =
    openingValues(items[0]!.open);
  const same = { submitted_at, token_id, user_id, kind, request, tools, queue_timeout_ms, timeout_ms };
  const rows = items.map(({ n, attempt, open: { id, display, scheme, waiter } }) => ({
    n,
    attempt,
    id,
    display,
    scheme,
    waiter,
  }));
  const values = { epoch, batch, created_at: timeOf(batch), items: jsonb(rows), ...same, quotas, root_id };
  return database.value(calling('open_items', values));
}

// Chunks: several items whose requests have one ProbeJob and are submitted at one time. Each request is closed as any
// other. Those that their chunk does not come to are taken back.

export interface OfChunk {
  ids: readonly string[];
  submittedAt: Date;
}

/**
 * Those of these requests that are open leave no trace, and their items wait, after this time, with a try less. Twice
 * is the same as once. Returns how many there were.
 */
export function returnItems(
  database: Database,
  { ids, submittedAt, afterMs = 0 }: OfChunk & { afterMs?: number },
): Promise<number> {
  return database.value(calling('return_items', { ids, submitted_at: submittedAt, after_ms: integer(afterMs) }));
}

const OPEN = { id: column<string>(), isWanted: column<boolean>() };

/** The first of these requests that is open. `isWanted`: its batch runs, or stopped because it fills a quota. */
export function openOfChunk(database: Database, { ids, submittedAt }: OfChunk): Promise<RecordOf<typeof OPEN> | null> {
  return database.first(calling('open_of_chunk', { ids, submitted_at: submittedAt }, OPEN));
}

// What runs, and its end.

export async function runningItems(database: Database): Promise<RunningItem[]> {
  const rows = await database.rows<Omit<RunningItem, 'host'> & { host: string }>(query('running_items')`
    select i.batch_id batch, i.n, i.host::text host, b.token_id "token", coalesce(u.root_id, u.id, -1) account,
        i.request_id "requestId", i.submitted_at "submittedAt"
      from batch_items i join batches b on b.id = i.batch_id left join users u on u.id = b.user_id
      where i.state = 'running' order by i.submitted_at ${RUNNING_AT_MOST}`);
  return rows.map((row) => ({ ...row, host: BigInt(row.host) }));
}

/** The first to end first, of all batches. A request that is gone has ended with an error. */
export function endedItems(database: Database, limit: number): Promise<EndedItem[]> {
  // Materialized: with workers, which Postgres takes for the join, it takes 60 ms in place of one.
  return database.rows(query('ended_items')`
    with i as materialized (
      select batch_id, n, tries, request_id, submitted_at from batch_items where state = 'running')
    select i.batch_id batch, i.n, i.tries attempt, i.request_id "requestId", i.submitted_at "submittedAt",
        coalesce(r.state, 'error') state, coalesce(r.reason, 'InternalError') reason,
        jsonb_path_query_first(r.tools, '$[*].code') #>> '{}' code, coalesce(r.status, 500) status,
        r.policy_outcome "policyOutcome", coalesce(r.io_bytes, 0) "ioBytes", r.tools #>> '{0,tagged}' tagged,
        facets_of(r.tools, r.policy_outcome) facets
      from i left join requests r on r.id = i.request_id and r.submitted_at = i.submitted_at
      where r.state <> 'open' or r.id is null order by r.ended_at limit ${limit}`);
}

/** Records ends, and items that wait for another try. Twice is the same as once. Returns how many it changed. */
export function settleItems(database: Database, items: readonly Settled[]): Promise<number> {
  const rows = items.map(({ batch, n, requestId, state, status, reason, code, tagged, facets, next, ...more }) => ({
    batch,
    created_at: timeOf(batch),
    n,
    request_id: requestId,
    tagged,
    facets,
    state: next.to === 'end' ? state : 'waiting',
    after_ms: next.to === 'end' ? null : bigint(next.afterMs),
    is_try: next.to === 'end' || next.isTry,
    status: smallint(status),
    reason,
    code,
    policy_outcome: more.policyOutcome,
    io_bytes: bigint(more.ioBytes),
  }));
  const call = calling('settle_items', { items: jsonb(rows) });
  const gone = rows.filter(({ state, code }) => state === 'error' && code !== null && GONE_CODES.includes(code));
  if (gone.length === 0) return database.value(call);
  return database.transaction('settle items', async (queries) => {
    const count = await queries.value<number>(call);
    await missObjects(queries, gone);
    return count;
  });
}

/** It ends without a request. False: it does not wait for this attempt any more, or its batch does not run. */
export function endUnopened(
  database: Database,
  { batch, n, attempt, state, status, reason, code }: UnopenedItem,
): Promise<boolean> {
  return database.hasRow(query('end_unopened')`
    with live as (select id, created_at from batches where id = ${batch} and state = 'running' for no key update),
    ended as (
      update batch_items i
        set state = ${state}, status = ${status === null ? null : smallint(status)}, reason = ${reason},
          code = ${code}, sealed = null, ended_at = now(),
          -- Of the earlier result, where that stands for it.
          (policy_outcome, facets) = (select r.policy_outcome, facets_of(r.tools, r.policy_outcome) from requests r
            where ${state} = 'skipped' and r.id = i.request_id and r.submitted_at = i.submitted_at)
        from live where i.batch_id = live.id and i.created_at = live.created_at and i.n = ${n}
          and i.state = 'waiting' and i.tries = ${attempt} - 1
        returning i.batch_id, i.facets)
    update batches b set skipped = b.skipped + case when ${state} = 'skipped' then 1 else 0 end,
        error = b.error + case when ${state} = 'error' then 1 else 0 end,
        codes = case when ${state} = 'error'
          then add_counts(b.codes, jsonb_build_object(${code ?? reason}::text, 1), 1) else b.codes end,
        facets = case when ended.facets is null then b.facets else add_facets(b.facets, array[ended.facets]) end
      from ended where b.id = ended.batch_id returning b.id`);
}

export function itemsPage(
  database: Database,
  { batch, after, limit, state, code, facets = {} }: ItemsPage,
): Promise<BatchItem[]> {
  const where = [sql`batch_id = ${batch} and created_at = ${timeOf(batch)} and n > ${after}`];
  if (state !== undefined) where.push(sql`state = ${state}`);
  // The list of states is that of the index.
  if (code !== undefined) where.push(sql`state in ('error', 'with-errors') and coalesce(code, reason) = ${code}`);
  const asked = Object.entries(facets).map(([facet, value]) => [facet, [value]]);
  if (asked.length > 0)
    where.push(sql`n <= ${integer(after + LOOKED_AT)} and facets @> ${jsonb(Object.fromEntries(asked))}`);
  const name = ['items_page', state && 'state', code && 'code', asked.length > 0 && 'facets'].filter(Boolean).join('_');
  return database.rows<BatchItem>(query(name)`
    select ${LISTED} from batch_items where ${allOf(where)} order by n limit ${limit}`);
}
