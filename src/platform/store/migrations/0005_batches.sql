-- Batches: many probes by one template. The driver, one API replica, opens their items as ordinary requests.

-- No foreign keys, as for requests.
create table batches (
  -- UUIDv7: its time is created_at.
  id uuid primary key,
  created_at timestamptz not null,
  token_id bigint not null,
  user_id bigint not null,
  name text,
  state text not null default 'running' check (state in ('running', 'paused', 'stopped', 'cancelling', 'ended')),
  reason text,
  -- Checked fields and exact versions: no address, no secret.
  template jsonb not null,
  -- The key of its addresses, sealed in the box. Null: it ended.
  sealed_key bytea,
  items integer not null,
  concurrency integer not null,
  rate integer not null,
  per_host integer not null,
  tries integer not null,
  max_requests bigint,
  max_bytes bigint,
  deadline_at timestamptz,
  -- Of items that ended. What runs and waits is counted from items.
  success integer not null default 0,
  with_errors integer not null default 0,
  error integer not null default 0,
  skipped integer not null default 0,
  -- Of all tries.
  requests bigint not null default 0,
  io_bytes bigint not null default 0,
  -- Failed items by code. To count 100,000 of them took 0.4 s, each time that somebody looked at the batch.
  codes jsonb not null default '{}',
  -- Of a batch that tags its objects: ended items by what became of the tags.
  tags jsonb not null default '{}',
  -- What its files are: items by `facet:value`. To count a million would take seconds.
  facets jsonb not null default '{}',
  -- Of a batch over a bucket: its item 0 is the listing, and its other items are what has been found. What is wanted,
  -- where the listing goes on, and how much was found (BatchListing in batches.ts). Null: its items were sent.
  listing jsonb,
  -- Of a batch that a source made (0006_sources.sql).
  source_id uuid,
  idempotency_key text,
  body_sha256 bytea,
  -- As that of a request.
  webhook_url text,
  -- It is also sent each time that so many more items have ended. Null: at its end alone.
  webhook_every integer,
  ended_at timestamptz,
  unique (token_id, idempotency_key)
);
create index batches_user on batches (user_id, id desc);
create index batches_live on batches (id) where state <> 'ended';
create index batches_source on batches (source_id, id desc) where source_id is not null;
-- What a source has in hand. Its listing is there until it is accounted for.
create index batches_source_open on batches (source_id)
  where source_id is not null and (state <> 'ended' or listing is not null);

-- By month of their batch: load.ts knows parts by month and day alone, and thousands of small batches would be
-- thousands of tables.
create table batch_items (
  batch_id uuid not null,
  created_at timestamptz not null,
  n integer not null,
  -- A hash of the authority of its address.
  host bigint not null,
  display text not null,
  -- That it is the whole address, so that a later batch may have it from here. False: it shares no job, as it has
  -- credentials or is the listing.
  plain boolean not null default false,
  ref text,
  -- Its address, by the key of the batch. Null: it ended.
  sealed bytea,
  state text not null default 'waiting'
    check (state in ('waiting', 'running', 'success', 'with-errors', 'error', 'skipped')),
  tries smallint not null default 0,
  not_before timestamptz not null default '-infinity',
  -- Of the last try, as how it ended.
  request_id uuid,
  submitted_at timestamptz,
  status smallint,
  reason text,
  code text,
  policy_outcome text,
  -- Of its result (src/media/policy/facets.ts).
  facets jsonb,
  -- Of all tries.
  io_bytes bigint,
  ended_at timestamptz,
  primary key (batch_id, n, created_at)
) partition by range (created_at);
alter table batch_items alter column sealed set storage external;
-- The first of a host: those that were never tried, then those that are due again.
create index batch_items_waiting on batch_items (batch_id, host, not_before, n) where state = 'waiting';
create index batch_items_running on batch_items (batch_id, n) where state = 'running';
create index batch_items_state on batch_items (batch_id, state, n);
create index batch_items_code on batch_items (batch_id, coalesce(code, reason), n)
  where state in ('error', 'with-errors');
create index batch_items_request on batch_items (request_id) where request_id is not null;
create table batch_items_default partition of batch_items default;

-- One row. The lease is for speed alone: what is right is decided by the rows of batches and items.
create table batch_driver (
  only_one boolean primary key default true check (only_one),
  holder text not null default '',
  -- Raised with each change of the holder.
  epoch bigint not null default 0,
  until timestamptz not null default '-infinity'
);
insert into batch_driver default values;

create function notify_batches() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_batches', '');
  return null;
end $$;
create trigger batches_notify after insert or update of state on batches
  for each row when (new.state in ('running', 'cancelling')) execute function notify_batches();

-- Whoever counts the end of an item. Several that are passed at once are one webhook, that of the last.
create function send_batch_progress() returns trigger language plpgsql as $$
declare
  ended integer := new.success + new.with_errors + new.error + new.skipped;
begin
  insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url, progress)
    values (new.id, new.created_at, new.token_id, new.user_id, new.webhook_url,
      ended / new.webhook_every * new.webhook_every)
    on conflict do nothing;
  return null;
end $$;
create trigger batches_progress after update of success, with_errors, error, skipped on batches
  for each row when (new.webhook_url is not null and new.state in ('running', 'paused', 'stopped')
    and new.success + new.with_errors + new.error + new.skipped < new.items
    and (new.success + new.with_errors + new.error + new.skipped) / new.webhook_every
      > (old.success + old.with_errors + old.error + old.skipped) / new.webhook_every)
  execute function send_batch_progress();

-- Becomes or stays the driver. Null: another one drives. A new one waits until what the one before opens is done; who
-- stays it waits for nothing.
create function take_driver(p_holder text, p_seconds integer) returns bigint language plpgsql as $$
declare
  taken bigint;
begin
  update batch_driver set until = clock_timestamp() + make_interval(secs => p_seconds)
    where holder = p_holder returning epoch into taken;
  if found then return taken; end if;
  perform 1 from batch_driver where until <= clock_timestamp();
  if not found then return null; end if;
  perform pg_advisory_xact_lock(hashtext('probeyard.batch-driver'));
  update batch_driver set until = clock_timestamp() + make_interval(secs => p_seconds), holder = p_holder,
      epoch = epoch + 1
    where until <= clock_timestamp() returning epoch into taken;
  return taken;
end $$;

-- Opens a request for each of these items that wait, all or none. Opens share the locks that a new driver and a pause
-- take alone. Locks of rows would hold these up for as long as opens overlap: 2.4 s beside 16 of 20 ms; these locks,
-- 35 ms. Who takes more than one takes that of the driver first, then the batch, then items. A repeat of the same ids
-- is `opened` again.
create function open_items(
  p_epoch bigint, p_batch uuid, p_created_at timestamptz, p_items jsonb, p_submitted_at timestamptz,
  p_token_id bigint, p_user_id bigint, p_kind text, p_request jsonb, p_tools jsonb, p_queue_timeout_ms integer,
  p_timeout_ms integer, p_quotas jsonb, p_root_id bigint)
returns text language plpgsql as $$
declare
  -- As arrays: of a set of records Postgres expects a hundred rows, and would read all items of a small batch.
  ids uuid[] := array(select (one ->> 'id')::uuid from jsonb_array_elements(p_items) one);
  ns integer[] := array(select (one ->> 'n')::integer from jsonb_array_elements(p_items) one);
  attempts integer[] := array(select (one ->> 'attempt')::integer from jsonb_array_elements(p_items) one);
  one record;
  opened text;
  waiting integer;
begin
  -- The answer was lost: nobody but this caller knows the ids.
  perform 1 from batch_items i
    where i.batch_id = p_batch and i.created_at = p_created_at and i.request_id = any(ids);
  if found then return 'opened'; end if;
  perform pg_advisory_xact_lock_shared(hashtext('probeyard.batch-driver'));
  perform 1 from batch_driver d where d.epoch = p_epoch;
  if not found then return 'not-driver'; end if;
  perform pg_advisory_xact_lock_shared(hashtext('probeyard.batch'), hashtext(p_batch::text));
  perform 1 from batches b where b.id = p_batch and b.state = 'running';
  if not found then return 'not-running'; end if;
  -- By the number of items Postgres would make a plan for each call, which takes longer than to open one. Off
  -- again for the rest: open_request and its quotas are planned as for all other callers.
  set local plan_cache_mode = force_generic_plan;
  perform 1 from batch_items i
    join unnest(ns, attempts) g (n, attempt) on g.n = i.n
    where i.batch_id = p_batch and i.created_at = p_created_at
      and i.state = 'waiting' and i.tries = g.attempt - 1
    order by i.n for update of i;
  get diagnostics waiting = row_count;
  set local plan_cache_mode = auto;
  if waiting <> cardinality(ids) then return 'not-waiting'; end if;
  for one in select * from jsonb_to_recordset(p_items) g (id uuid, display text, scheme text, waiter text) loop
    -- Quotas are judged once, by the last one, as the others are in the record by then and count. All are deleted if
    -- it is refused.
    select o.outcome into opened from open_request(one.id, p_submitted_at, p_token_id, p_user_id, p_kind, one.display,
      one.scheme, p_request, p_tools, p_queue_timeout_ms, p_timeout_ms, one.waiter, null, null, null, 0,
      case when one.id = ids[cardinality(ids)] then p_quotas end, p_root_id) o;
    if opened <> 'opened' then
      delete from requests r where r.id = any(ids) and r.submitted_at = p_submitted_at;
      return opened;
    end if;
  end loop;
  set local plan_cache_mode = force_generic_plan;
  update batch_items i set state = 'running', tries = g.attempt, request_id = g.id, submitted_at = p_submitted_at
    from unnest(ns, attempts, ids) g (n, attempt, id)
    where i.batch_id = p_batch and i.created_at = p_created_at and i.n = g.n;
  set local plan_cache_mode = auto;
  return 'opened';
end $$;

-- Chunks: several requests of a batch with one ProbeJob. They are submitted at one time, so they lie in one partition.

-- Takes back those of these requests that are open, because their chunk does not come to them: their items wait as
-- before, and nothing is left of the requests. Returns how many there were.
create function return_items(p_ids uuid[], p_submitted_at timestamptz, p_after_ms integer)
returns integer language plpgsql as $$
declare
  gone uuid[];
begin
  with deleted as (
    delete from requests r using batch_items i
      where r.id = any(p_ids) and r.submitted_at = p_submitted_at and r.state = 'open'
        and i.request_id = r.id and i.state = 'running'
      returning r.id)
  select array_agg(id) into gone from deleted;
  update batch_items i set state = 'waiting', tries = i.tries - 1, request_id = null, submitted_at = null,
      not_before = case when p_after_ms > 0 then now() + make_interval(secs => p_after_ms / 1000.0)
        else i.not_before end
    where i.request_id = any(gone) and i.state = 'running';
  return coalesce(cardinality(gone), 0);
end $$;

-- The first of these requests that is open, and whether its batch runs, or stopped because it fills a quota. Not in SQL
-- alone, which would be planned for each call.
create function open_of_chunk(p_ids uuid[], p_submitted_at timestamptz)
returns table (id uuid, is_wanted boolean) language plpgsql stable as $$
begin
  return query select r.id, coalesce(b.state = 'running' or (b.state = 'stopped' and b.reason = 'QuotaExceeded'), false)
    from requests r
      left join batch_items i on i.request_id = r.id and i.state = 'running'
      left join batches b on b.id = i.batch_id and b.created_at = i.created_at
    where r.id = any(p_ids) and r.submitted_at = p_submitted_at and r.state = 'open' order by r.id limit 1;
end $$;

-- What is recorded of a request, with the outcome of its policy. Null: nothing.
create function facets_of(p_tools jsonb, p_policy_outcome text) returns jsonb language sql immutable parallel safe as $$
  select nullif(coalesce(p_tools #> '{0,facets}', '{}') || case when p_policy_outcome is null then '{}'::jsonb
    else jsonb_build_object('policy', jsonb_build_array(p_policy_outcome)) end, '{}')
$$;

-- Counts with the facets of further items. A facet has at most 100 values: the first ones, and of those that come
-- together the most frequent. All others are counted as `facet:`.
create function add_facets(p_counts jsonb, p_facets jsonb[]) returns jsonb language sql immutable parallel safe as $$
  with held as (select split_part(key, ':', 1) facet, count(*) n from jsonb_object_keys(p_counts) key group by 1),
  more as (
    select f.key facet, v.value, p_counts ? (f.key || ':' || v.value) known, count(*) n
      from unnest(p_facets) one, jsonb_each(one) f, jsonb_array_elements_text(f.value) v group by 1, 2),
  kept as (
    select m.n, m.facet || ':' || case when known or coalesce(h.n, 0)
        + row_number() over (partition by m.facet, known order by m.n desc, value) <= 100 then value else '' end key
      from more m left join held h using (facet))
  select coalesce(add_counts(p_counts, (select jsonb_object_agg(key, n) from
    (select key, sum(n) n from kept group by 1) k), 1), '{}')
$$;

-- Writes the ends of running items, or that they wait for another try, and counts them. An item with another request by
-- now stays as it is. Returns how many changed. The `progress` of an item's webhook is -1 - n, so that an item has one.
create function settle_items(p_items jsonb) returns integer language plpgsql as $$
declare
  settled integer;
begin
  perform 1 from batches b
    where b.id in (select (one ->> 'batch')::uuid from jsonb_array_elements(p_items) one)
    order by b.id for no key update;
  with given as (
    select * from jsonb_to_recordset(p_items) g (batch uuid, created_at timestamptz, n integer, request_id uuid,
      state text, after_ms bigint, is_try boolean, status smallint, reason text, code text,
      policy_outcome text, io_bytes bigint, tagged text, facets jsonb)),
  changed as (
    update batch_items i set state = g.state, status = g.status, reason = g.reason, code = g.code,
        policy_outcome = g.policy_outcome, io_bytes = coalesce(i.io_bytes, 0) + g.io_bytes,
        facets = case when g.state <> 'waiting' then g.facets end,
        not_before = case when g.state = 'waiting' then now() + make_interval(secs => g.after_ms / 1000.0)
          else i.not_before end,
        -- What never ran is no try.
        tries = i.tries - case when g.is_try then 0 else 1 end,
        sealed = case when g.state = 'waiting' then i.sealed end,
        ended_at = case when g.state <> 'waiting' then now() end
      from given g
      where i.batch_id = g.batch and i.created_at = g.created_at and i.n = g.n
        and i.state = 'running' and i.request_id = g.request_id
      returning i.batch_id, i.n, i.state, g.io_bytes, coalesce(g.code, g.reason) code, g.tagged, i.facets),
  to_send as (
    insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url, progress)
      select b.id, b.created_at, b.token_id, b.user_id, b.webhook_url, -1 - c.n
        from changed c join batches b on b.id = c.batch_id
        where c.state <> 'waiting' and b.webhook_url is not null and b.template -> 'webhookItems' = 'true'
          -- No listing.
          and (c.n > 0 or b.listing is null)
      on conflict do nothing),
  codes as (
    select batch_id, jsonb_object_agg(code, n) codes from (
      select batch_id, code, count(*) n from changed where state in ('error', 'with-errors') and code is not null
        group by 1, 2) c group by 1),
  tags as (
    select batch_id, jsonb_object_agg(tagged, n) tags from (
      select batch_id, tagged, count(*) n from changed where state <> 'waiting' and tagged is not null group by 1, 2) t
      group by 1),
  sums as (
    select batch_id, count(*) requests, sum(io_bytes) io_bytes, count(*) filter (where state = 'success') success,
      count(*) filter (where state = 'with-errors') with_errors, count(*) filter (where state = 'error') error,
      array_agg(facets) filter (where facets is not null) facets
    from changed group by batch_id),
  counted as (
    update batches b set requests = b.requests + s.requests, io_bytes = b.io_bytes + s.io_bytes,
        success = b.success + s.success, with_errors = b.with_errors + s.with_errors, error = b.error + s.error,
        codes = coalesce(add_counts(b.codes, c.codes, 1), '{}'), tags = coalesce(add_counts(b.tags, t.tags, 1), '{}'),
        facets = case when s.facets is null then b.facets else add_facets(b.facets, s.facets) end
      from sums s left join codes c using (batch_id) left join tags t using (batch_id) where b.id = s.batch_id)
  select count(*) into settled from changed;
  return settled;
end $$;

-- Items of a cancelled batch that wait, at most so many. Returns their number.
create function skip_items(p_batch uuid, p_created_at timestamptz, p_most integer) returns integer
language plpgsql as $$
declare
  why text;
  gone integer;
begin
  select b.reason into why from batches b where b.id = p_batch and b.state = 'cancelling' for no key update;
  if not found then return 0; end if;
  update batch_items i set state = 'skipped', reason = why, code = null, status = null, sealed = null, ended_at = now()
    where i.batch_id = p_batch and i.created_at = p_created_at and i.n = any(array(
      select w.n from batch_items w
        where w.batch_id = p_batch and w.created_at = p_created_at and w.state = 'waiting' limit p_most))
      and i.state = 'waiting';
  get diagnostics gone = row_count;
  update batches b set skipped = b.skipped + gone where b.id = p_batch;
  return gone;
end $$;
