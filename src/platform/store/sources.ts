/**
 * Sources: buckets of which each new version of an object becomes an item of a batch, once. A listing and an event do
 * the same here: they note a version. The batch takes it in the transaction that creates the batch.
 */
import type { BatchState } from './batches.ts';
import { column, inserted, selected, type RecordOf } from './columns.ts';
import type { Database, Queries } from './connection.ts';
import { calling } from './function_call.ts';
import { fixedLimit, query, raw, sql } from './query.ts';
import { jsonb } from './storable.ts';
import { timeOf } from './uuid.ts';

export type SourceState = 'running' | 'paused' | 'stopped' | 'deleting';

/** How the last listing ended. */
export interface LastListing {
  at: string;
  /** Null: it listed all. */
  error: string | null;
  found: number;
  filtered: number;
  left_out: number;
}

/** What its creator decides. */
const CREATED = {
  id: column<string>(),
  tokenId: column<number>(),
  userId: column<number>(),
  name: column<string | null>(),
  url: column<string>(),
  filter: column<object>(),
  body: column<Buffer>(),
  every: column<number | null>(),
  settle: column<number>(),
  bundle: column<number>(),
  existing: column<boolean>(),
};
const SOURCE = {
  ...CREATED,
  createdAt: column<Date>(),
  state: column<SourceState>(),
  /** Why it stopped. */
  reason: column<string | null>(),
  text: column<string | null>(),
  objects: column<number>(),
  listAt: column<Date | null>(),
  lastListing: column<LastListing | null>(),
  eventsNoted: column<number>(),
  eventsIgnored: column<number>(),
  lastEventAt: column<Date | null>(),
  /** That confirms a subscription of SNS, which waits for it; empty: not known. Null: none waits. */
  confirmationHost: column<string | null>(),
};
export type Source = RecordOf<typeof SOURCE>;

/** Of each source; no more than so many are counted. */
export const MOST_WAITING = 1_000;
/** As it is shown: with the number of its objects of which no batch has the version. */
const SHOWN = {
  ...SOURCE,
  waiting: column<number>(`(select count(*) from (select from source_objects o
    where o.source_id = s.id and o.due_at is not null limit ${MOST_WAITING}) w)`),
};
export type ShownSource = RecordOf<typeof SHOWN>;
export type NewSource = RecordOf<typeof CREATED> & { keySha256: Buffer };

/** What the driver does next follows from it. Not more: it reads a thousand of them every two seconds. */
const DRIVEN = {
  id: column<string>(),
  tokenId: column<number>(),
  state: column<SourceState>(),
  /** Null: its user is erased. */
  rootUserId: column<number | null>('(select coalesce(u.root_id, u.id) from users u where u.id = s.user_id)'),
  listDue: column<boolean>('coalesce(s.list_at <= now(), false)'),
  // Of `exists`, Postgres may make a hash of what is due in all sources.
  bundleDue: column<boolean>(`s.bundle_at <= now()
    and coalesce((select min(o.due_at) from source_objects o where o.source_id = s.id) <= now(), false)`),
  open: column<OpenBatch[]>(`(select coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'state', b.state,
      'reason', b.reason, 'lists', b.listing is not null) order by b.id), '[]')
    from batches b where b.source_id = s.id and (b.state <> 'ended' or b.listing is not null))`),
};
export interface OpenBatch {
  id: string;
  state: BatchState;
  reason: string | null;
  lists: boolean;
}
export type DrivenSource = RecordOf<typeof DRIVEN>;

const LISTED = selected(SHOWN, 's');
const READ = sql`select ${LISTED} from sources s`;
const READ_DRIVEN = sql`select ${selected(DRIVEN, 's')} from sources s`;
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Rows of one statement: of a million, an hour's listing changes most. */
const MOST_OBJECTS = 1_000_000;
/** That events are the first to name. Nothing but the key shows that there are such objects. */
const MOST_BY_EVENTS_A_DAY = 100_000;
const ROWS_AT_ONCE = 5_000;
const ONE_PIECE = fixedLimit(ROWS_AT_ONCE);
const DRIVEN_AT_MOST = fixedLimit(1_000);

/** With the same id again it is the same source. */
export function createSource(
  database: Database,
  source: NewSource,
  most: { rootUserId: number; sources: number },
): Promise<{ outcome: 'created'; source: ShownSource } | { outcome: 'too-many-sources' }> {
  return database.transaction('create source', async (queries) => {
    await queries.run(query('lock_sources')`
      select pg_advisory_xact_lock(hashtext('probeyard.sources'), hashint8(${most.rootUserId}))`);
    const known = await readSource(queries, source.id);
    if (known) return { outcome: 'created', source: known };
    if ((await countSources(queries, most.rootUserId)) >= most.sources) return { outcome: 'too-many-sources' };
    const isListed = source.every !== null || source.existing;
    const createdAt = timeOf(source.id)!;
    const values = inserted(
      { ...CREATED, createdAt: SOURCE.createdAt, keySha256: column<Buffer>(), listAt: SOURCE.listAt },
      { ...source, createdAt, filter: jsonb(source.filter), listAt: isListed ? createdAt : null },
    );
    const created = await queries.one<ShownSource>(query('insert_source')`
      with s as (insert into sources ${values} returning *) select ${LISTED} from s`);
    return { outcome: 'created', source: created };
  });
}

/** Of an account. */
export const countSources = (database: Queries, rootUserId: number): Promise<number> =>
  database.value(query('count_sources')`
    select count(*) from sources s join users u on u.id = s.user_id where coalesce(u.root_id, u.id) = ${rootUserId}`);

export const readSource = (database: Queries, id: string): Promise<ShownSource | null> =>
  database.first(query('read_source')`${READ} where s.id = ${id}`);

/** What an event is checked by. Null: there is none, or its user is not active. */
export const sourceForEvents = (database: Queries, id: string): Promise<SourceForEvents | null> =>
  database.first(query('source_for_events')`
    select s.id, s.url, s.filter, s.key_sha256 "keySha256", s.user_id "userId",
        s.confirmation_host "confirmationHost", coalesce(u.root_id, u.id) "rootUserId"
      from sources s join users u on u.id = s.user_id
      where s.id = ${id} and s.state <> 'deleting' and u.status = 'active'`);
export interface SourceForEvents extends Pick<Source, 'id' | 'url' | 'filter' | 'userId' | 'confirmationHost'> {
  keySha256: Buffer;
  rootUserId: number;
}

/** False: it was so before. */
export const setConfirmation = (database: Queries, id: string, host: string | null): Promise<boolean> =>
  database.hasRow(query('set_confirmation')`
    update sources set confirmation_host = ${host} where id = ${id} and confirmation_host is distinct from ${host}
      returning id`);

/** The key before is none from now on. Null: there is no such source, or it is being deleted. */
export const setEventsKey = (database: Queries, id: string, keySha256: Buffer): Promise<ShownSource | null> =>
  database.first(query('set_events_key')`
    update sources s set key_sha256 = ${keySha256} where s.id = ${id} and s.state <> 'deleting' returning ${LISTED}`);

/** Events of one bucket are read for at most so many. */
const OF_BUCKET_AT_MOST = fixedLimit(100);

/**
 * Of all accounts, the oldest first. Any account may create a source of any bucket: only a listing that succeeded shows
 * that it may know the names of the objects.
 */
export const sourcesOfBucket = (database: Queries, bucket: string): Promise<SourceOfBucket[]> =>
  database.rows(query('sources_of_bucket')`
    select s.id, s.url, s.filter from sources s join users u on u.id = s.user_id
      where split_part(s.url, '/', 3) = ${bucket} and s.url like 's3:%' and s.state <> 'deleting'
        and u.status = 'active' and s.last_listing is not null and s.last_listing ->> 'error' is null
      order by s.id ${OF_BUCKET_AT_MOST}`);
export type SourceOfBucket = Pick<Source, 'id' | 'url' | 'filter'>;

/** The newest first. `before`: the last source of the page before. */
export const listSources = (
  database: Database,
  { userId, before, limit }: { userId: number; before: string | null; limit: number },
): Promise<ShownSource[]> =>
  database.rows(query('list_sources')`
    ${READ} where s.user_id = ${userId} and s.id < ${before ?? LAST_ID} order by s.id desc limit ${limit}`);

/** Those with something to do. With more than one round has room for, none is always the last. */
export const drivenSources = (database: Database): Promise<DrivenSource[]> =>
  database.rows(query('driven_sources')`
    select * from (${READ_DRIVEN}) d
      where d.state = 'deleting' or d."rootUserId" is null or d.state = 'running' and (d."listDue" or d."bundleDue")
        or d.open @? '$[*] ? (@.lists == true && (@.state == "ended" || @.state == "stopped"))'
      order by random() ${DRIVEN_AT_MOST}`);

/** With the listing, until it is accounted for. */
export const openBatchesOf = (database: Database, source: string): Promise<OpenBatch[]> =>
  database.rows(query('open_batches_of')`
    select id, state, reason, listing is not null lists from batches
      where source_id = ${source} and (state <> 'ended' or listing is not null) order by id`);

/** Null: it was in none of these states. */
export const moveSource = (
  database: Database,
  { id, from, to, reason = null, text = null }: SourceMove,
): Promise<ShownSource | null> =>
  database.first(query('move_source')`
    update sources s set state = ${to}, reason = ${reason}, text = ${text}
      where s.id = ${id} and s.state = any(${from}) returning ${LISTED}`);
export interface SourceMove {
  id: string;
  from: readonly SourceState[];
  to: SourceState;
  reason?: string | null;
  text?: string | null;
}

// As an object of Kubernetes.

/** `requestSha256`: null, the source may not be there yet. `account`: its root user; null: erased. */
export interface SourceOfObject {
  id: string;
  requestSha256: Buffer | null;
  account: number | null;
  /** Of its batches that have not ended. */
  batches: BatchState[];
  source: Source | null;
}
const OF_OBJECT = selected(SOURCE, 's');

/** By uid. */
export async function sourcesOfObjects(
  database: Database,
  uids: readonly string[],
): Promise<Map<string, SourceOfObject>> {
  type Row = Source & Omit<SourceOfObject, 'id' | 'source'> & { uid: string; sourceId: string };
  const rows = await database.rows<Row>(query('sources_of_objects')`
    select ${OF_OBJECT}, o.uid, o.made_id "sourceId", o.request_sha256 "requestSha256",
        (select coalesce(u.root_id, u.id) from users u where u.id = s.user_id) account,
        array(select b.state from batches b
          where b.source_id = s.id and b.state <> 'ended' and b.listing is null) batches
      from followed_objects o left join sources s on s.id = o.made_id where o.uid = any(${uids})`);
  return new Map(
    rows.map(({ uid, sourceId, requestSha256, account, batches, ...source }) => [
      uid,
      { id: sourceId, requestSha256, account, batches, source: source.id === null ? null : source },
    ]),
  );
}

/** As its object asks now: it keeps what it knows, and lists at once. False: it is deleted, or of another account. */
export function changeSource(
  database: Database,
  { id, tokenId, userId, name, filter, body, every, settle, bundle, existing }: NewSource,
  { uid, requestSha256 }: { uid: string; requestSha256: Buffer },
): Promise<boolean> {
  return database.hasRow(query('change_source')`
    with changed as (
      update sources s set token_id = ${tokenId}, user_id = ${userId}, name = ${name}, filter = ${jsonb(filter)},
          body = ${body}, every = ${every}, settle = ${settle}, bundle = ${bundle}, existing = ${existing},
          reason = null, text = null, list_at = case when ${every !== null || existing} then now() end,
          state = case state when 'stopped' then 'running' else state end
        from users u, users n
        where s.id = ${id} and s.state <> 'deleting' and u.id = s.user_id and n.id = ${userId}
          and coalesce(u.root_id, u.id) = coalesce(n.root_id, n.id)
        returning s.id)
    update followed_objects o set request_sha256 = ${requestSha256} from changed c
      where o.uid = ${uid} and o.made_id = c.id returning o.uid`);
}

/** The driver lists it as soon as it can. */
export const listSourceNow = (database: Database, id: string): Promise<ShownSource | null> =>
  database.first(query('list_source_now')`
    update sources s set list_at = now() where s.id = ${id} and s.state = 'running' returning ${LISTED}`);

// Objects.

/** A version of an object, as a listing or an event says it is. */
export interface SeenObject {
  name: string;
  /** Of its name. */
  hash: Buffer;
  version: Buffer;
  /** When it was so. */
  at: Date;
  /** Null: not known. */
  modified: Date | null;
}
/** Without two of one name. */
export interface SeenObjects {
  source: string;
  objects: readonly SeenObject[];
  /** Of events: others of the same message. */
  ignored?: number;
}
export interface Noted {
  /** False: there is no such source. */
  known: boolean;
  /** Not older than what was known. */
  noted: number;
  /** The source has as many objects as it may have. */
  leftOut: number;
}

const TODAY = raw(`(now() at time zone 'utc')::date`);

/**
 * Older news than the row's is ignored. A version that is not the taken one is due once the object has not changed for
 * `settle` seconds. What was there before the source is taken at once, unless `existing` is to be probed.
 */
export async function noteObjects(database: Queries, { source, objects, ignored }: SeenObjects): Promise<Noted> {
  const [count, byEvents] = [objects.length, ignored !== undefined];
  const all = <F extends keyof SeenObject>(field: F): SeenObject[F][] => objects.map((one) => one[field]);
  return database.one<Noted>(query('note_objects')`
    with s as (
      select *, case when event_day = ${TODAY} then event_objects else 0 end by_events
        from sources where id = ${source} and state <> 'deleting' for no key update),
    news as (
      select n.hash, n.name, n.version, n.at,
          coalesce(n.modified, n.at) + make_interval(secs => s.settle) due_at,
          not s.existing and coalesce(n.modified < s.created_at, false) is_old
        from s, unnest(${all('hash')}::bytea[], ${all('name')}::text[], ${all('version')}::bytea[],
            ${all('at')}::timestamptz[], ${all('modified')}::timestamptz[]) n (hash, name, version, at, modified)
        where s.objects + ${count} <= ${MOST_OBJECTS}
            and (not ${byEvents} or s.by_events + ${count} <= ${MOST_BY_EVENTS_A_DAY})
          or (select true from source_objects k where k.source_id = ${source} and k.hash = n.hash)),
    noted as (
      insert into source_objects as o (source_id, hash, name, version, at, due_at, taken, leaves_at)
        select ${source}::uuid, hash, case when is_old then '' else name end, version, at,
            case when not is_old then due_at end, case when is_old then version end,
            case when ${byEvents} then timestamptz 'infinity' end
          from news order by hash
        on conflict (source_id, hash) do update set version = excluded.version, at = excluded.at,
            name = case when excluded.version = o.version then o.name
              when excluded.version = o.taken then '' else (select n.name from news n where n.hash = o.hash) end,
            due_at = case when excluded.version = o.version then o.due_at
              when excluded.version = o.taken then null
              else (select n.due_at from news n where n.hash = o.hash) end,
            -- A listing has seen it, or the same event has come again.
            leaves_at = case when excluded.leaves_at is null then null
              when o.leaves_at is null or excluded.version = o.version then o.leaves_at else excluded.leaves_at end
          where excluded.at >= o.at
        returning xmax = 0 is_new),
    counted as (
      update sources u set objects = u.objects + n.is_new,
          events_noted = u.events_noted + case when ${byEvents} then n.noted else 0 end,
          events_ignored = u.events_ignored
            + case when ${byEvents} then ${count + (ignored ?? 0)} - (select count(*) from news) else 0 end,
          last_event_at = case when ${byEvents} then now() else u.last_event_at end,
          event_day = case when ${byEvents} then ${TODAY} else u.event_day end,
          event_objects = case when ${byEvents} then s.by_events + n.is_new else u.event_objects end
        from s, (select count(*) noted, count(*) filter (where is_new) is_new from noted) n where u.id = s.id)
    select exists (select from s) known, (select count(*) from noted) noted,
      case when exists (select from s) then ${count} - (select count(*) from news) else 0 end "leftOut"`);
}

/** Of which an item is to be made. */
export interface ObjectVersion {
  hash: Buffer;
  name: string;
  version: Buffer;
}

/** The longest due first. */
export const dueObjects = (database: Database, source: string, limit: number): Promise<ObjectVersion[]> =>
  database.rows(query('due_objects')`
    select hash, name, version from source_objects where source_id = ${source} and due_at <= now()
      order by due_at limit ${limit}`);

/** Within the creation of a batch: these versions are taken, all of them or none. */
export async function claimSource(
  queries: Queries,
  source: string,
  { lists, objects }: { lists: boolean; objects: readonly ObjectVersion[] },
): Promise<boolean> {
  const runs = await queries.hasRow(query('claim_source')`
    select from sources s where s.id = ${source} and s.state = 'running' for no key update`);
  if (!runs) return false;
  if (lists)
    return !(await queries.hasRow(query('source_lists')`
      select from batches where source_id = ${source} and listing is not null`));
  const [hashes, versions] = [objects.map(({ hash }) => hash), objects.map(({ version }) => version)];
  const stillDue = sql`unnest(${hashes}::bytea[], ${versions}::bytea[]) n (hash, version)
    where o.source_id = ${source} and o.hash = n.hash and o.version = n.version and o.due_at is not null`;
  const there = await queries.value<number>(query('count_due')`select count(*) from source_objects o, ${stillDue}`);
  // Whoever notes others locks the source first.
  if (there !== objects.length) return false;
  await queries.run(query('take_objects')`
    update source_objects o set taken = o.version, due_at = null, name = '' from ${stillDue}`);
  await queries.run(query('source_bundled')`
    update sources set bundle_at = now() + make_interval(secs => bundle) where id = ${source}`);
  return true;
}

/**
 * Objects that were not seen since, of a piece in the order of hashes. Returns where the next piece begins; null: that
 * was the last. By other orders Postgres may read the table as a whole.
 */
export const forgetObjects = (
  database: Database,
  source: string,
  { unseenSince, after }: { unseenSince: Date | null; after: Buffer },
): Promise<Buffer | null> =>
  database.valueOrNull(query('forget_objects')`
    with locked as (select id from sources where id = ${source} for no key update),
    piece as (select o.hash from source_objects o where o.source_id = (select id from locked) and o.hash > ${after}
      order by o.hash ${ONE_PIECE}),
    gone as (
      delete from source_objects o using piece p where o.source_id = ${source} and o.hash = p.hash
        and (${unseenSince}::timestamptz is null or o.at < ${unseenSince}) returning 1),
    counted as (update sources set objects = objects - (select count(*) from gone)
      where id = ${source} and exists (select from gone))
    select hash from piece order by hash offset ${ROWS_AT_ONCE - 1}`);

/** Of a run that says that there is no such object. */
export const GONE_CODES: readonly string[] = ['http-404', 'http-410'];

/** Those of these items that only events have named leave in a while: the same event may come again until then. */
export async function missObjects(queries: Queries, items: readonly { batch: string; n: number }[]): Promise<void> {
  const [batches, numbers] = [items.map(({ batch }) => batch), items.map(({ n }) => n)];
  // Nothing is waited for: the row of a source that makes a batch is locked, and meanwhile the driver would settle
  // nothing of any account. An object that is locked has news.
  await queries.run(query('miss_objects')`
    with missed as (
      select o.source_id, o.hash
        from unnest(${batches}::uuid[], ${numbers}::integer[]) g (batch, n)
          join batches b on b.id = g.batch and b.source_id is not null and b.listing is null
          join batch_items i on i.batch_id = b.id and i.created_at = b.created_at and i.n = g.n
          join source_objects o on o.source_id = b.source_id
            and o.hash = substring(sha256(convert_to(i.ref, 'UTF8')) for 16)
        where i.state = 'error' and o.leaves_at = 'infinity' and o.due_at is null
        for no key update of o skip locked)
    update source_objects o set leaves_at = now() + interval '1 hour'
      from missed m where o.source_id = m.source_id and o.hash = m.hash`);
}

/** Some of one source whose time to leave has come. False: there are none, or the source is locked. */
export const forgetMissing = (database: Database): Promise<boolean> =>
  database.hasRow(query('forget_missing')`
    with s as (
      select id from sources where id = (select source_id from source_objects
        where leaves_at < 'infinity' and leaves_at <= now() order by leaves_at limit 1)
        for no key update skip locked),
    piece as (
      select o.source_id, o.hash from source_objects o join s on s.id = o.source_id
        where o.leaves_at < 'infinity' and o.leaves_at <= now() order by o.leaves_at ${ONE_PIECE}),
    gone as (
      delete from source_objects o using piece p
        where o.source_id = p.source_id and o.hash = p.hash and o.leaves_at <= now() returning 1)
    update sources set objects = objects - (select count(*) from gone) where id = (select id from s) returning id`);

/** A listing has ended: what it left is gone with it, and the next one has a time. */
export function endSourceListing(
  database: Database,
  { source, batch, last }: { source: string; batch: string; last: LastListing },
): Promise<boolean> {
  return database.transaction('end listing of source', async (queries) => {
    if (!(await queries.value<boolean>(calling('drop_source_listing', { source, batch })))) return false;
    await queries.run(query('source_listed')`
      update sources set last_listing = ${jsonb(last)}, list_at = case
          -- It was asked for meanwhile.
          when list_at > ${timeOf(batch)} and list_at <= now() then list_at
          else now() + make_interval(secs => every) end
        where id = ${source}`);
    return true;
  });
}

/** One that is to be deleted and has no objects any more. */
export const dropSource = (database: Database, id: string): Promise<boolean> =>
  database.hasRow(query('drop_source')`
    delete from sources s where s.id = ${id} and s.state = 'deleting'
      and not exists (select from source_objects o where o.source_id = s.id) returning id`);
