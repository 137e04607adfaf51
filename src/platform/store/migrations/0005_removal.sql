-- Removal: what is deleted by age, and what is erased on request. Every call is one short step that holds no lock for
-- long.

-- Start of what is on record. From requests.since on, a range of statistics may count partial minutes from requests.
insert into settings (key, value)
  values ('requests.since', to_jsonb('-infinity'::text)), ('envelopes.since', to_jsonb('-infinity'::text));

create function month_partitions(p_parent regclass, out part regclass, out ends timestamptz)
returns setof record language sql stable as $$
  select c.oid::regclass, (to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month') at time zone 'UTC'
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = p_parent and c.relname ~ '_[0-9]{6}$'
$$;

-- A waiting lock of the whole table holds up all later ones: it is not waited for long, and tried again another time.
create function drop_partition(p_part regclass) returns boolean language plpgsql as $$
begin
  set local lock_timeout = '1s';
  execute format('drop table %s', p_part);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Envelopes older than p_before: whole months are dropped, then the rest is deleted in steps of ten minutes. Time
-- without any is skipped, so an installation that stood still for months catches up in a few steps. True: there is more
-- to do.
create function drop_envelopes(p_before timestamptz, p_step interval default '10 minutes')
returns boolean language plpgsql as $$
declare
  since timestamptz;
  old record;
  until timestamptz;
  gone integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.envelopes')) then return false; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = 'envelopes.since';
  if since >= p_before then return false; end if;
  for old in select part from month_partitions('envelopes') where ends <= p_before loop
    perform drop_partition(old.part);
  end loop;
  until := least(p_before, since + p_step);
  -- Those that came late for their time, too.
  delete from envelopes where submitted_at < until and submitted_at >= since - interval '1 day';
  get diagnostics gone = row_count;
  if gone = 0 then
    select min(submitted_at) into until from envelopes where submitted_at >= until and submitted_at < p_before;
    until := coalesce(until, p_before);
  end if;
  update settings set value = to_jsonb(until::text) where key = 'envelopes.since';
  return until < p_before;
end $$;

-- Requests of whole months that ended before p_before. The settings change first, the months go at the next call: a
-- replica that has not read the settings yet still finds them.
create function drop_requests(p_before timestamptz) returns integer language plpgsql as $$
declare
  since timestamptz;
  old record;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.requests')) then return 0; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = 'requests.since';
  for old in select part from month_partitions('requests') where ends <= since loop
    if drop_partition(old.part) then dropped := dropped + 1; end if;
  end loop;
  delete from requests_default where submitted_at < since;
  p_before := date_trunc('month', p_before, 'UTC');
  if since < p_before then update settings set value = to_jsonb(p_before::text) where key = 'requests.since'; end if;
  return dropped;
end $$;

-- Users whose data is to be erased. The row stays for a day after: a request that was under way when its user was
-- erased leaves nothing either.
create table erasures (
  user_id bigint primary key,
  token_ids bigint[] not null,
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

-- Deletes the user, all users below and their tokens at once; erase_step erases their data in steps. Returns the users.
create function erase_user(p_user bigint) returns bigint[] language plpgsql as $$
declare
  gone bigint[];
begin
  with recursive below (id) as (
    select p_user union select u.id from users u join below b on u.parent_id = b.id or u.root_id = b.id)
  select array_agg(id) into gone from below where id in (select id from users);
  if gone is null then return '{}'; end if;
  insert into erasures (user_id, token_ids)
    select g, coalesce((select array_agg(t.id) from tokens t where t.user_id = g), '{}') from unnest(gone) g
    on conflict (user_id) do nothing;
  delete from tokens where user_id = any(gone);
  delete from users where id = any(gone);
  return gone;
end $$;

-- Returns the number of deleted rows; 0: nothing is left. Figures of everybody lose the user's (the longest queue time
-- stays an upper bound).
create function erase_step(p_user bigint, p_most integer default 1000) returns integer language plpgsql as $$
declare
  ids uuid[];
  times timestamptz[];
  grain text;
  gone integer;
  sums text;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.erase')) then return 0; end if;
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
    from unnest(array['file_success', 'file_with_errors', 'file_error',
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error',
    'compare_success', 'compare_with_errors', 'compare_error',
    'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt',
    'timed_out', 'processing_ms', 'io_bytes', 'queue_ms']) c;
  foreach grain in array array['minute', 'hour', 'day'] loop
    -- One of the user's rows per moment and turn: an UPDATE changes a row of everybody's once.
    execute format($q$
      with o as (delete from rollup_%1$s where (user_id, at, token_id) in (
          select distinct on (at) user_id, at, token_id from (
            select user_id, at, token_id from rollup_%1$s where user_id = $1 order by at limit $2) s order by at)
        returning *)
      update rollup_%1$s r set requests = r.requests - o.requests, %2$s,
          queue_histogram = subtract_histogram(r.queue_histogram, o.queue_histogram),
          other_kinds = add_counts(r.other_kinds, o.other_kinds, -1)
        from o where r.user_id = 0 and r.at = o.at and r.token_id = 0
    $q$, grain, sums) using p_user, p_most;
    get diagnostics gone = row_count;
    if gone > 0 then return gone; end if;
  end loop;
  delete from webhook_outbox where user_id = p_user;
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
  if r.state = 'open' then return 'open'; end if;
  delete from envelopes e where e.id = p_id and e.submitted_at = r.submitted_at;
  delete from webhook_outbox w where w.request_id = p_id;
  delete from idempotency i where i.token_id = r.token_id and i.request_id = p_id;
  update requests q set display = '', error = null, request = '{}', webhook_url = null, erased_at = now()
    where q.id = p_id and q.submitted_at = r.submitted_at;
  return 'erased';
end $$;

-- API and controllers may sign in as roles that own nothing (roles.ts). What only the owner may do, they do through
-- these functions, which run as the owner and each do one thing. pg_temp comes last: otherwise a caller's temporary
-- table would take the place of a real one. Rights to call them are given in roles.ts alone.
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['ensure_partitions(integer)', 'drop_partition(regclass)',
    'drop_envelopes(timestamptz, interval)', 'drop_requests(timestamptz)',
    'erase_user(bigint)', 'erase_step(bigint, integer)', 'erase_request(uuid, timestamptz, bigint[])'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
