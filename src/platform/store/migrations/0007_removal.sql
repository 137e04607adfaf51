-- Removal: what is deleted by age, and what is erased on request. Every call is one short step that holds no lock for
-- long. Tables that are deleted by age are divided by time, and their old parts are dropped: deleted rows of a month
-- gave no disk back while the month went on, and took WAL and vacuum.

-- Start of what is on record. From requests.since on, a range of statistics may count partial minutes from requests.
-- From the others on, figures by minute are complete, and batches with their items.
insert into settings (key, value)
  values ('requests.since', to_jsonb('-infinity'::text)), ('rollup_minute.since', to_jsonb('-infinity'::text)),
    ('batch_items.since', to_jsonb('-infinity'::text));

-- The parts of a table that is divided by time, by their bounds; without the default one. The first part of a table may
-- begin at -infinity.
create function time_parts(p_parent regclass, out part regclass, out starts timestamptz, out ends timestamptz)
returns setof record language sql stable as $$
  select c.oid::regclass, coalesce(substring(b.bound from $q$FROM \('([^']+)'\)$q$)::timestamptz, '-infinity'),
    substring(b.bound from $q$TO \('([^']+)'\)$q$)::timestamptz
  from pg_inherits i join pg_class c on c.oid = i.inhrelid,
    lateral (select pg_get_expr(c.relpartbound, c.oid) bound) b
  where i.inhparent = p_parent and b.bound <> 'DEFAULT'
$$;

-- Makes the parts of the last, this and the next months, or days: `ahead` months, and `ahead` weeks of days. Rows of
-- the default part move to the new one. Attaching takes a lock on the parent that lets reads and writes go on; only the
-- (nearly empty) default part is locked for a moment. While a long transaction reads it, a part is made later.
create function ensure_partitions(ahead integer default 2) returns integer language plpgsql as $$
declare
  divided record;
  utc timestamp;
  since timestamptz;
  until timestamptz;
  part text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.partitions'));
  set local lock_timeout = '250ms';
  for divided in
    select d.*, ('1 ' || d.unit)::interval width from (values
      ('requests', 'submitted_at', 'month', '_YYYYMM', ahead, ''),
      ('envelopes', 'submitted_at', 'day', '_YYYYMMDD', ahead * 7, ''),
      ('rollup_minute', 'at', 'month', '_YYYYMM', ahead, ' with (fillfactor = 90)'),
      ('batch_items', 'created_at', 'month', '_YYYYMM', ahead, ''))
        d (parent, by_time, unit, suffix, steps, options)
  loop
    -- The last one too: a request of 23:59:59 may be written after midnight.
    for step in -1..divided.steps loop
      utc := date_trunc(divided.unit, now() at time zone 'UTC') + step * divided.width;
      since := utc at time zone 'UTC';
      until := (utc + divided.width) at time zone 'UTC';
      continue when exists (
        select from time_parts(divided.parent::regclass) p where p.starts < until and p.ends > since);
      part := divided.parent || to_char(utc, divided.suffix);
      begin
        execute format('lock table %I in access exclusive mode', divided.parent || '_default');
        execute format('create table %I (like %I including all)%s', part, divided.parent, divided.options);
        execute format('with moved as (delete from %1$I where %2$I >= %3$L and %2$I < %4$L returning *)
          insert into %5$I select * from moved', divided.parent || '_default', divided.by_time, since, until, part);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          divided.parent, part, since, until);
      exception when lock_not_available then
        return made;
      end;
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;

-- Statements wait behind one that waits for a lock of the whole table: briefly, and another time again.
create function drop_partition(p_part regclass) returns boolean language plpgsql as $$
begin
  set local lock_timeout = '250ms';
  execute format('drop table %s', p_part);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Drops one day of results that ended before p_before, or a part of what is as old in the default part. True: there is
-- more to do. One at a time, because the lock of the whole table is held until the end.
create function drop_envelopes(p_before timestamptz) returns boolean language plpgsql as $$
declare
  old record;
  gone integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.envelopes')) then return false; end if;
  for old in select part from time_parts('envelopes') where ends <= p_before order by ends loop
    -- A part that is being read delays no other.
    if drop_partition(old.part) then return true; end if;
  end loop;
  delete from envelopes_default where ctid = any(array(
    select ctid from envelopes_default where submitted_at < p_before limit 1000));
  get diagnostics gone = row_count;
  return gone = 1000;
end $$;

-- Whole months of a table that ended before p_before. The setting changes first, the months go at the next call: a
-- replica that has not read the setting yet still finds them.
create function drop_months(p_table text, p_before timestamptz) returns integer language plpgsql as $$
declare
  by_time text := case p_table when 'requests' then 'submitted_at' when 'rollup_minute' then 'at'
    when 'batch_items' then 'created_at' end;
  since timestamptz;
  old record;
  dropped integer := 0;
begin
  if by_time is null then raise 'no table with months is named %', p_table; end if;
  if not pg_try_advisory_xact_lock(hashtext('probeyard.' || p_table)) then return 0; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = p_table || '.since';
  for old in select part from time_parts(p_table::regclass) where ends <= since loop
    if drop_partition(old.part) then dropped := dropped + 1; end if;
  end loop;
  execute format('delete from %1$I where ctid = any(array(select ctid from %1$I where %2$I < $1 limit 10000))',
    p_table || '_default', by_time) using since;
  p_before := date_trunc('month', p_before, 'UTC');
  if since < p_before then
    update settings set value = to_jsonb(p_before::text) where key = p_table || '.since';
  end if;
  -- A month of items is of the batches that were created in it.
  if p_table = 'batch_items' then delete from batches where created_at < greatest(since, p_before); end if;
  return dropped;
end $$;

-- Users whose data is to be erased. The row stays for a day after: a request that was under way when its user was
-- erased leaves nothing either.
create table erasures (
  user_id bigint primary key,
  token_ids bigint[] not null,
  -- Whom figures of finished months go to (share_of_erased).
  share_id bigint not null default 0,
  asked_at timestamptz not null default now()
);

-- What was erased on request, by number alone. A restored backup still has it, and erases it again. Written by
-- functions that run as the owner, so no other role has rights here.
create table erased (
  kind text not null check (kind in ('user', 'request')),
  id text not null,
  at timestamptz not null default now(),
  primary key (kind, id)
);
create index erased_at on erased (at);

create function keep_erased_user() returns trigger language plpgsql as $$
begin
  insert into erased (kind, id) values ('user', new.user_id::text) on conflict do nothing;
  return null;
end $$;
create trigger erasures_kept after insert on erasures for each row execute function keep_erased_user();

create function keep_erased_request() returns trigger language plpgsql as $$
begin
  insert into erased (kind, id) values ('request', new.id::text) on conflict do nothing;
  return null;
end $$;
create trigger requests_erased after update of erased_at on requests
  for each row when (new.erased_at is not null) execute function keep_erased_request();

-- Figures of user -1, which are those of erased users, have the id of a share as their token. 0: an account without
-- labels.
create table erased_shares (
  id bigint generated always as identity primary key,
  -- The account of erased sub-users. Null: it is erased, too, and only its labels are left.
  account_id bigint,
  labels jsonb not null default '{}'
);

-- The share of what is erased with this user, who still exists.
create function share_of_erased(p_user bigint) returns bigint language plpgsql as $$
declare
  root record;
  share bigint;
begin
  select a.id, a.labels into root from users u join users a on a.id = coalesce(u.root_id, u.id) where u.id = p_user;
  if not found then return 0; end if;
  if root.id <> p_user then
    select id into share from erased_shares where account_id = root.id limit 1;
    if share is null then
      insert into erased_shares (account_id) values (root.id) returning id into share;
    end if;
    return share;
  end if;
  update erased_shares set account_id = null, labels = root.labels where account_id = p_user;
  if root.labels = '{}' then return 0; end if;
  select id into share from erased_shares where account_id is null and labels = root.labels limit 1;
  if share is null then
    insert into erased_shares (labels) values (root.labels) returning id into share;
  end if;
  return share;
end $$;

-- Deletes the user, all users below and their tokens at once; erase_step erases their data in steps. Returns the users.
create function erase_user(p_user bigint) returns bigint[] language plpgsql as $$
declare
  gone bigint[];
  share bigint;
begin
  with recursive below (id) as (
    select p_user union select u.id from users u join below b on u.parent_id = b.id or u.root_id = b.id)
  select array_agg(id) into gone from below where id in (select id from users);
  if gone is null then return '{}'; end if;
  share := share_of_erased(p_user);
  insert into erasures (user_id, token_ids, share_id)
    select g, coalesce((select array_agg(t.id) from tokens t where t.user_id = g), '{}'), share from unnest(gone) g
    on conflict (user_id) do nothing;
  delete from tokens where user_id = any(gone);
  delete from users where id = any(gone);
  return gone;
end $$;

-- Returns the number of deleted rows; 0: nothing is left. Figures of everybody lose the user's (the longest queue time
-- stays an upper bound). Those of days in finished months go to user -1 and the share of the erasure: they keep what
-- has been accounted for.
create function erase_step(p_user bigint, p_most integer default 1000) returns integer language plpgsql as $$
declare
  counters constant text[] := rollup_counters();
  names constant text := array_to_string(counters, ', ');
  ids uuid[];
  times timestamptz[];
  grain text;
  gone integer;
  sums text;
  kept text;
  share bigint := coalesce((select share_id from erasures where user_id = p_user), 0);
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.erase')) then return 0; end if;
  -- First what would open more requests. Batches before items, as all who lock both.
  update batches set state = 'ended', ended_at = now(), sealed_key = null
    where user_id = p_user and state <> 'ended';
  delete from batch_items i using (
      select o.batch_id, o.created_at, o.n from batches b
        join batch_items o on o.batch_id = b.id and o.created_at = b.created_at
        where b.user_id = p_user limit p_most) x
    where i.batch_id = x.batch_id and i.created_at = x.created_at and i.n = x.n;
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  delete from batches where user_id = p_user;
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  select array_agg(r.id), array_agg(r.submitted_at) into ids, times
    from (select r.id, r.submitted_at from requests r where r.user_id = p_user limit p_most) r;
  if ids is not null then
    delete from envelopes e using unnest(ids, times) x (id, submitted_at)
      where e.id = x.id and e.submitted_at = x.submitted_at;
    delete from requests r using unnest(ids, times) x (id, submitted_at)
      where r.id = x.id and r.submitted_at = x.submitted_at;
    return cardinality(ids);
  end if;
  -- Nothing may fold what is being taken away.
  perform pg_advisory_xact_lock(hashtext('probeyard.fold'));
  delete from usage_minute where user_id = p_user;
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  select string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) - coalesce(o.%1$I, 0), 0)', c), ', ') into sums
    from unnest(counters) c;
  select format($q$, kept as (
      insert into rollup_day as r (user_id, at, token_id, requests, %1$s, queue_max_ms, queue_histogram, other_kinds)
        select -1, o.at, $3, o.requests, %1$s, o.queue_max_ms, o.queue_histogram, o.other_kinds from o
          where o.at < date_trunc('month', now(), 'UTC')
      on conflict (user_id, at, token_id) do update set requests = r.requests + excluded.requests, %2$s,
        queue_max_ms = greatest(r.queue_max_ms, excluded.queue_max_ms),
        queue_histogram = add_histogram(r.queue_histogram, excluded.queue_histogram),
        other_kinds = add_counts(r.other_kinds, excluded.other_kinds, 1))$q$, names,
      string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) + coalesce(excluded.%1$I, 0), 0)', c), ', '))
    into kept from unnest(counters) c;
  foreach grain in array array['minute', 'hour', 'day'] loop
    -- One of the user's rows per moment and turn: an UPDATE changes a row of everybody's once.
    execute format($q$
      with o as (delete from rollup_%1$s where (user_id, at, token_id) in (
          select distinct on (at) user_id, at, token_id from (
            select user_id, at, token_id from rollup_%1$s where user_id = $1 order by at limit $2) s order by at)
        returning *)%3$s
      update rollup_%1$s r set requests = r.requests - o.requests, %2$s,
          queue_histogram = subtract_histogram(r.queue_histogram, o.queue_histogram),
          other_kinds = add_counts(r.other_kinds, o.other_kinds, -1)
        from o where r.user_id = 0 and r.at = o.at and r.token_id = 0
    $q$, grain, sums, case grain when 'day' then kept else '' end) using p_user, p_most, share;
    get diagnostics gone = row_count;
    if gone > 0 then return gone; end if;
  end loop;
  -- A batch may leave a million of them.
  delete from webhook_outbox where id = any(array(
    select id from webhook_outbox where user_id = p_user limit p_most));
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  delete from idempotency where token_id = any((select token_ids from erasures where user_id = p_user)::bigint[]);
  delete from rate_limits where (scope = 'user' and id = p_user)
    or (scope = 'token' and id = any((select token_ids from erasures where user_id = p_user)::bigint[]));
  delete from erasures where user_id = p_user and asked_at < now() - interval '1 day';
  return 0;
end $$;

-- Erases what is kept of one ended request: result, source, options, error, webhook. The row stays, and with it every
-- figure. A repeat under its Idempotency-Key runs anew. Null users: of everyone.
create function erase_request(p_id uuid, p_submitted_at timestamptz, p_users bigint[])
returns text language plpgsql as $$
declare
  r record;
begin
  select q.submitted_at, q.token_id, q.state, q.erased_at into r from requests q
    where q.id = p_id and (p_submitted_at is null or q.submitted_at = p_submitted_at)
      and (p_users is null or q.user_id = any(p_users))
    for update;
  if not found or r.erased_at is not null then return 'none'; end if;
  -- Nor while its item runs: the driver, which sees the end in a moment, may need the address, and sends the result.
  if r.state = 'open' or exists (select from batch_items i where i.request_id = p_id and i.state = 'running') then
    return 'open';
  end if;
  delete from envelopes e where e.id = p_id and e.submitted_at = r.submitted_at;
  delete from webhook_outbox w where w.request_id = p_id;
  delete from webhook_outbox w using batch_items i
    where i.request_id = p_id and w.request_id = i.batch_id and w.progress = -1 - i.n;
  delete from idempotency i where i.token_id = r.token_id and i.request_id = p_id;
  update requests q set display = '', error = null, request = '{}', webhook_url = null, erased_at = now()
    where q.id = p_id and q.submitted_at = r.submitted_at;
  -- One that waits for another try needs its address.
  update batch_items i set display = '', ref = null, sealed = null
    where i.request_id = p_id and i.state not in ('waiting', 'running');
  return 'erased';
end $$;

-- API and controllers may sign in as roles that own nothing (roles.ts). What only the owner may do, they do through
-- these functions, which run as the owner and each do one thing. pg_temp comes last: otherwise a caller's temporary
-- table would take the place of a real one. Rights to call them are given in roles.ts alone. Controllers may read
-- neither the keys nor the addresses of batches.
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['ensure_partitions(integer)', 'drop_partition(regclass)',
    'drop_envelopes(timestamptz)', 'drop_months(text, timestamptz)',
    'erase_user(bigint)', 'erase_step(bigint, integer)', 'erase_request(uuid, timestamptz, bigint[])',
    'forget_audit(timestamptz, integer)', 'return_items(uuid[], timestamptz, integer)',
    'open_of_chunk(uuid[], timestamptz)', 'drop_source_listing(uuid, uuid)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
-- Only erase_user, which runs as the owner, calls it.
revoke all on function share_of_erased(bigint) from public;

select ensure_partitions();
