/**
 * Batches: many probes by one template. The driver, an API replica, opens their items as ordinary requests
 * (batch_items.ts). Each item ends once, with the end of its last request.
 */
import type { Database, Queries } from './connection.ts';
import { type ChangeOf, column, inserted, type RecordOf, selected } from './columns.ts';
import { calling } from './function_call.ts';
import { empty, fixedLimit, query, sql } from './query.ts';
import { claimSource, noteObjects, type ObjectVersion, type SeenObjects } from './sources.ts';
import { bigint, integer, jsonb } from './storable.ts';
import { timeOf } from './uuid.ts';

export type BatchState = 'running' | 'paused' | 'stopped' | 'cancelling' | 'ended';
export type ItemState = 'waiting' | 'running' | 'success' | 'with-errors' | 'error' | 'skipped';
export type ItemCounts = Record<ItemState, number>;

/** Of a batch over a bucket. */
export interface BatchListing {
  /** What is listed: `s3://films/2026/`. */
  url: string;
  /** What is wanted of it, as runners take it. */
  filter: object;
  /** Where the next job goes on; null: at the beginning. */
  cursor: string | null;
  /** There is no more. */
  listed: boolean;
  found: number;
  /** Of these: not wanted, and without an address that can be read. */
  filtered: number;
  leftOut: number;
}

/** A request of an earlier batch, whose result stands for an item as long as its source has not changed. */
export interface EarlierRequest {
  id: string;
  submittedAt: Date;
}

export interface NewItem {
  /** From 0, without gaps. */
  n: number;
  /** A hash of the authority of its address: signed, 64 bits. */
  host: bigint;
  /** Redacted address. */
  display: string;
  /** That it is the whole address. False: it shares no job, as it has credentials or is the listing. */
  plain: boolean;
  /** The caller's own name of it. */
  ref: string | null;
  sealed: Buffer;
  earlier?: EarlierRequest | undefined;
}

/** Of all unfinished batches of an account. */
export interface MostOfBatches {
  rootUserId: number;
  batches: number;
  /** Items that have not ended. */
  items: number;
}

export type CreatedBatch =
  | { outcome: 'created' | 'repeated'; batch: Batch }
  /** `not-claimed`: its source does not run, lists already, or has other objects by now. */
  | { outcome: 'idempotency-conflict' | 'too-many-batches' | 'too-many-items' | 'not-claimed' };

/** What its creator decides. */
const CREATED = {
  /** UUIDv7: its time is the creation time by the store's clock. */
  id: column<string>(),
  createdAt: column<Date>(),
  tokenId: column<number>(),
  userId: column<number>(),
  name: column<string | null>(),
  /** Checked fields of a probe with exact versions; no address and no secret. */
  template: column<unknown>(),
  items: column<number>(),
  concurrency: column<number>(),
  /** Items per minute. */
  rate: column<number>(),
  /** Items of one host at a time. */
  perHost: column<number>(),
  /** Requests per item. */
  tries: column<number>(),
  maxRequests: column<number | null>(),
  maxBytes: column<number | null>(),
  deadlineAt: column<Date | null>(),
  /** Where its end is sent, as it is stored. */
  webhookUrl: column<string | null>(),
  /** Also each time that so many more of its items have ended. */
  webhookEvery: column<number | null>(),
  /** Its only item is the listing. */
  listing: column<BatchListing | null>(),
  /** The source that makes it. */
  sourceId: column<string | null>(),
};
const STORED = {
  ...CREATED,
  state: column<BatchState>(),
  /** Of Probeyard's reasons, or one that the driver gives. Null: it runs, or its owner paused it. */
  reason: column<string | null>(),
  /** Ended requests of its items, with those that were tried again; and what they read. */
  requests: column<number>(),
  ioBytes: column<number>(),
  /** Of one that tags its objects: items by what became of the tags. */
  tags: column<Record<string, number>>(),
  endedAt: column<Date | null>(),
};
// What runs is few rows; what waits is the rest. A counter of either would lock the batch for each request.
const COUNTED = {
  running: column<number>(`(select count(*) from batch_items i
    where i.batch_id = b.id and i.created_at = b.created_at and i.state = 'running')`),
  success: column<number>(),
  withErrors: column<number>(),
  error: column<number>(),
  skipped: column<number>(),
};
const COLUMNS = { ...STORED, ...COUNTED };
type Row = RecordOf<typeof COLUMNS>;
export type Batch = RecordOf<typeof STORED> & { counts: ItemCounts };

const BUDGET = { maxRequests: CREATED.maxRequests, maxBytes: CREATED.maxBytes };
export type Budget = ChangeOf<typeof BUDGET>;

/** Not shown. */
const KEPT = {
  /** The key of its addresses, sealed in the box. */
  sealedKey: column<Buffer | null>(),
  idempotencyKey: column<string | null>(),
  bodySha256: column<Buffer | null>(),
};
export type NewBatch = Omit<RecordOf<typeof CREATED>, 'createdAt' | 'items'> & { sealedKey: Buffer };

/** For the driver: a batch to open items of, or to cancel what runs of. */
const DRIVEN = {
  ...COLUMNS,
  sealedKey: KEPT.sealedKey,
  /** Null: its user is erased. */
  rootUserId: column<number | null>('(select coalesce(u.root_id, u.id) from users u where u.id = b.user_id)'),
};
export type Driven = Batch & { sealedKey: Buffer | null; rootUserId: number | null };

const LISTED = selected(COLUMNS, 'b');
const READ = sql`select ${LISTED} from batches b`;
const READ_DRIVEN = sql`select ${selected(DRIVEN, 'b')} from batches b`;
/** Rows of one insert: 10,000 at once would hold the event loop for tens of milliseconds. */
const ROWS_AT_ONCE = 500;
const DRIVEN_AT_MOST = fixedLimit(1_000);
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

function shown<T extends Row>(row: T): Omit<T, keyof typeof COUNTED> & { counts: ItemCounts } {
  const { running, success, withErrors, error, skipped, ...rest } = row;
  const waiting = Math.max(0, row.items - running - success - withErrors - error - skipped);
  return { ...rest, counts: { waiting, running, success, 'with-errors': withErrors, error, skipped } };
}
const shownOrNull = (row: Row | null): Batch | null => (row === null ? null : shown(row));

type Idempotency = { key: string; bodySha256: Buffer } | null;

interface Conditions {
  most: MostOfBatches;
  idempotency: Idempotency;
  /** Of the source that makes it: what its items are of, which is taken with them. */
  objects?: readonly ObjectVersion[];
}

async function ofKey(queries: Queries, tokenId: number, key: Idempotency): Promise<CreatedBatch | null> {
  if (key === null) return null;
  await queries.run(query('forget_batch_key')`
    update batches set idempotency_key = null
      where token_id = ${tokenId} and idempotency_key = ${key.key} and created_at < now() - interval '24 hours'`);
  const first = await queries.first<Row & { same: boolean }>(query('batch_of_key')`
    select ${LISTED}, b.body_sha256 = ${key.bodySha256} "same" from batches b
      where b.token_id = ${tokenId} and b.idempotency_key = ${key.key}`);
  if (first === null) return null;
  const { same: isSame, ...row } = first;
  return isSame ? { outcome: 'repeated', batch: shown(row) } : { outcome: 'idempotency-conflict' };
}

async function insertItems(queries: Queries, id: string, items: readonly NewItem[]): Promise<void> {
  for (let from = 0; from < items.length; from += ROWS_AT_ONCE) {
    const some = items.slice(from, from + ROWS_AT_ONCE);
    await queries.run(query('insert_batch_items')`
      insert into batch_items (batch_id, created_at, n, host, display, plain, ref, sealed, request_id, submitted_at)
        select ${id}::uuid, ${timeOf(id)}::timestamptz, * from unnest(
          ${some.map(({ n }) => n)}::integer[],
          ${some.map(({ host }) => String(host))}::bigint[],
          ${some.map(({ display }) => display)}::text[],
          ${some.map(({ plain }) => plain)}::boolean[],
          ${some.map(({ ref }) => ref)}::text[],
          ${some.map(({ sealed }) => sealed)}::bytea[],
          ${some.map(({ earlier }) => earlier?.id ?? null)}::uuid[],
          ${some.map(({ earlier }) => earlier?.submittedAt ?? null)}::timestamptz[])`);
  }
}

/** Of all unfinished batches of an account. Those of sources are bounded by the number of sources. */
export const unfinishedBatches = (queries: Queries, rootUserId: number): Promise<{ batches: number; items: number }> =>
  queries.one(query('unfinished_batches')`
    select count(*) filter (where b.source_id is null) batches,
        coalesce(sum(b.items - b.success - b.with_errors - b.error - b.skipped), 0)::bigint items
      from batches b join users u on u.id = b.user_id
      where b.state <> 'ended' and coalesce(u.root_id, u.id) = ${rootUserId}`);

async function full(
  queries: Queries,
  most: MostOfBatches,
  items: number,
  source: string | null = null,
): Promise<CreatedBatch | null> {
  const held = await unfinishedBatches(queries, most.rootUserId);
  if (source === null && held.batches >= most.batches) return { outcome: 'too-many-batches' };
  return held.items + items > most.items ? { outcome: 'too-many-items' } : null;
}

/** What `createBatch` would find, whatever the items are, before they are read. Null: it would create the batch. */
export async function foreseenBatch(
  database: Database,
  tokenId: number,
  { most, idempotency }: Conditions,
): Promise<CreatedBatch | null> {
  return (await ofKey(database, tokenId, idempotency)) ?? full(database, most, 1);
}

const lockAccount = (queries: Queries, rootUserId: number): Promise<void> =>
  queries.run(query('lock_batches')`
    select pg_advisory_xact_lock(hashtext('probeyard.batches'), hashint8(${rootUserId}))`);

const rowOf = (queries: Queries, id: string): Promise<Row | null> =>
  queries.first<Row>(query('read_batch')`${READ} where b.id = ${id}`);

/** The batch with all of its items, or nothing. A key is remembered for a day, as those of requests are. */
export function createBatch(
  database: Database,
  batch: NewBatch,
  items: readonly NewItem[],
  { most, idempotency, objects = [] }: Conditions,
): Promise<CreatedBatch> {
  const { sourceId: source, listing } = batch;
  return database.transaction('create batch', async (queries) => {
    // Of ten at once exactly those are created that still fit.
    await lockAccount(queries, most.rootUserId);
    // The answer was lost.
    const same = await rowOf(queries, batch.id);
    if (same) return { outcome: 'created', batch: shown(same) };
    const known =
      (await ofKey(queries, batch.tokenId, idempotency)) ?? (await full(queries, most, items.length, source));
    if (known) return known;
    if (source !== null && !(await claimSource(queries, source, { lists: listing !== null, objects })))
      return { outcome: 'not-claimed' };
    const values = inserted(
      { ...CREATED, ...KEPT },
      {
        ...batch,
        createdAt: timeOf(batch.id)!,
        template: jsonb(batch.template),
        rate: integer(batch.rate),
        items: items.length,
        listing: jsonb(listing),
        idempotencyKey: idempotency?.key ?? null,
        bodySha256: idempotency?.bodySha256 ?? null,
      },
    );
    const row = await queries.one<Row>(query('insert_batch')`
      with b as (insert into batches ${values} returning *) select ${LISTED} from b`);
    await insertItems(queries, batch.id, items);
    return { outcome: 'created', batch: shown(row) };
  });
}

export interface AppendedPage {
  batch: string;
  /** Of the listing that found them. */
  requestId: string;
  ioBytes: number;
  /** Numbered from the number of items that the batch has. */
  items: readonly NewItem[];
  had: number;
  /** With these. */
  listing: BatchListing;
  most: Omit<MostOfBatches, 'batches'>;
  /** Of a source, in place of items. */
  seen?: SeenObjects;
}

/**
 * What a listing found, and that the listing waits to go on or has succeeded: all of it, or nothing. `gone`: another
 * one was faster, or the batch does not go on.
 */
export function appendPage(
  database: Database,
  { batch, requestId, ioBytes, items, had, listing, most, seen }: AppendedPage,
): Promise<'appended' | 'gone' | 'too-many-items'> {
  return database.transaction('append to batch', async (queries) => {
    await lockAccount(queries, most.rootUserId);
    const open = await queries.hasRow(query('lock_listed_batch')`
      select id from batches where id = ${batch} and items = ${had} and state in ('running', 'paused', 'stopped')
        for no key update`);
    if (!open) return 'gone';
    const held = await unfinishedBatches(queries, most.rootUserId);
    if (held.items + items.length > most.items) return 'too-many-items';
    const end = listing.listed
      ? sql`state = 'success', sealed = null, ended_at = now(), status = 200, reason = 'Completed'`
      : sql`state = 'waiting', tries = 0, ended_at = null, status = null, reason = null`;
    const isOwn = await queries.hasRow(query(listing.listed ? 'end_listing' : 'listing_goes_on')`
      update batch_items set io_bytes = coalesce(io_bytes, 0) + ${bigint(ioBytes)}, code = null, ${end}
        where batch_id = ${batch} and created_at = ${timeOf(batch)} and n = 0 and state = 'running'
          and request_id = ${requestId} returning n`);
    if (!isOwn) return 'gone';
    await insertItems(queries, batch, items);
    const leftOut = seen ? (await noteObjects(queries, seen)).leftOut : 0;
    await queries.run(query('grow_batch')`
      update batches set items = items + ${items.length}, requests = requests + 1,
          io_bytes = io_bytes + ${bigint(ioBytes)}, success = success + ${listing.listed ? 1 : 0},
          listing = ${jsonb({ ...listing, leftOut: listing.leftOut + leftOut })}
        where id = ${batch}`);
    return 'appended';
  });
}

export async function readBatch(database: Database, id: string): Promise<Batch | null> {
  return shownOrNull(await rowOf(database, id));
}

/** By id. */
export async function readBatches(database: Database, ids: readonly string[]): Promise<Map<string, Batch>> {
  const rows = await database.rows<Row>(query('read_batches')`${READ} where b.id = any(${ids})`);
  return new Map(rows.map((row) => [row.id, shown(row)]));
}

/** The newest first, without listings of sources. `before`: the last batch of the page before. */
export async function listBatches(
  database: Database,
  { userId, before, limit, source }: { userId: number; before: string | null; limit: number; source?: string | null },
): Promise<Batch[]> {
  const ofSource = source ? sql`and b.source_id = ${source}` : empty;
  const rows = await database.rows<Row>(query(source ? 'list_batches_of_source' : 'list_batches')`
    ${READ} where b.user_id = ${userId} and b.id < ${before ?? LAST_ID}
      and (b.source_id is null or b.listing is null) ${ofSource} order by b.id desc limit ${limit}`);
  return rows.map(shown);
}

export interface BatchFound {
  /** Failed items by the code of their failure, or the reason of their end if it has no code. */
  codes: Record<string, number>;
  /** Items by `facet:value`; `facet:` has all other values of the facet. */
  facets: Record<string, number>;
}

export async function batchFound(database: Database, id: string): Promise<BatchFound> {
  const found = await database.first<BatchFound>(query('batch_found')`
    select codes, facets from batches where id = ${id}`);
  return found ?? { codes: {}, facets: {} };
}

export interface BatchMove {
  id: string;
  from: readonly BatchState[];
  to: BatchState;
  reason: string | null;
  /** An absent bound stays; null lifts it. */
  raise?: Budget;
}

/** Null: it was in none of these states. */
export function moveBatch(database: Database, { id, from, to, reason, raise = {} }: BatchMove): Promise<Batch | null> {
  const { maxRequests, maxBytes } = raise;
  return database.transaction('move batch', async (queries) => {
    // After items that are being opened, which open_items does under the shared lock.
    await queries.run(query('lock_batch')`
      select pg_advisory_xact_lock(hashtext('probeyard.batch'), hashtext(${id}::uuid::text))`);
    const row = await queries.first<Row>(query('move_batch')`
      update batches b set state = ${to}, reason = ${reason},
          max_requests = case when ${maxRequests !== undefined} then ${maxRequests ?? null} else b.max_requests end,
          max_bytes = case when ${maxBytes !== undefined} then ${maxBytes ?? null} else b.max_bytes end,
          ended_at = case when ${to} = 'ended' then now() end,
          sealed_key = case when ${to} <> 'ended' then b.sealed_key end
        where b.id = ${id} and b.state = any(${from}) returning ${LISTED}`);
    return shownOrNull(row);
  });
}

/** Cancels those whose deadline is over; returns their ids. */
export function expireBatches(database: Database): Promise<string[]> {
  return database.column(query('expire_batches')`
    update batches set state = 'cancelling', reason = 'DeadlineExceeded'
      where state in ('running', 'paused', 'stopped') and deadline_at <= now() returning id`);
}

/** Ends those whose items have all ended, each with its webhook. */
export function endBatches(database: Database): Promise<{ id: string; reason: string | null }[]> {
  return database.rows(query('end_batches')`
    with ended as (
      update batches set state = 'ended', ended_at = now(), sealed_key = null,
          reason = case when state = 'cancelling' then reason else 'Completed' end
        where state <> 'ended' and success + with_errors + error + skipped = items returning *),
    to_send as (
      insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url)
        select id, created_at, token_id, user_id, webhook_url from ended where webhook_url is not null
        on conflict do nothing)
    select id, reason from ended`);
}

/**
 * Becomes or stays the driver for some seconds. Returns the epoch, which each change of the driver raises; null:
 * another one drives.
 */
export function takeDriver(
  database: Database,
  { holder, seconds }: { holder: string; seconds: number },
): Promise<number | null> {
  return database.value(calling('take_driver', { holder, seconds: integer(seconds) }));
}

/** Another replica may drive at once. */
export const leaveDriver = (database: Database, holder: string): Promise<void> =>
  database.run(query('leave_driver')`update batch_driver set until = clock_timestamp() where holder = ${holder}`);

/** What runs or is being cancelled: where there are more than can be driven, the oldest of each user. */
export async function drivenBatches(database: Database): Promise<Driven[]> {
  const rows = await database.rows<RecordOf<typeof DRIVEN>>(query('driven_batches')`
    ${READ_DRIVEN} where b.state in ('running', 'cancelling')
      order by row_number() over (partition by b.user_id order by b.state = 'running', b.id), b.id ${DRIVEN_AT_MOST}`);
  return rows.map(shown);
}

/** Whatever its state. */
export async function drivenBatch(database: Database, id: string): Promise<Driven | null> {
  const row = await database.first<RecordOf<typeof DRIVEN>>(query('driven_batch')`${READ_DRIVEN} where b.id = ${id}`);
  return row && shown(row);
}

/** Skips items of a cancelled batch that wait. Returns their number; 0: there are none. */
export function skipItems(database: Database, { batch, limit }: { batch: string; limit: number }): Promise<number> {
  return database.value(calling('skip_items', { batch, created_at: timeOf(batch), most: limit }));
}
