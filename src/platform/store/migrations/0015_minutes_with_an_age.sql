-- Figures by minute get an age (retention.minuteDays): they go by month, as the request log does. Figures by hour and
-- day stay for good.

-- Figures by minute are complete from then on.
insert into settings (key, value) values ('rollup_minute.since', to_jsonb('-infinity'::text));

-- Whole months of a table that ended before p_before. The setting changes first, the months go at the next call: a
-- replica that has not read the setting yet still finds them.
create function drop_months(p_table text, p_before timestamptz) returns integer language plpgsql as $$
declare
  by_time text := case p_table when 'requests' then 'submitted_at' when 'rollup_minute' then 'at' end;
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
  return dropped;
end $$;

-- Called by the version before.
create or replace function drop_requests(p_before timestamptz) returns integer language sql as $$
  select drop_months('requests', p_before)
$$;

-- Returns the number of deleted rows; 0: nothing is left. Figures of everybody lose the user's (the longest queue time
-- stays an upper bound). Those of days in finished months go to user -1, without name or number: it keeps what has been
-- accounted for.
create or replace function erase_step(p_user bigint, p_most integer default 1000)
returns integer language plpgsql as $$
declare
  counters constant text[] := array['file_success', 'file_with_errors', 'file_error',
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error',
    'compare_success', 'compare_with_errors', 'compare_error',
    'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt',
    'timed_out', 'processing_ms', 'io_bytes', 'queue_ms'];
  names constant text := array_to_string(counters, ', ');
  ids uuid[];
  times timestamptz[];
  grain text;
  gone integer;
  sums text;
  kept text;
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
    from unnest(counters) c;
  select format($q$, kept as (
      insert into rollup_day as r (user_id, at, token_id, requests, %1$s, queue_max_ms, queue_histogram, other_kinds)
        select -1, o.at, 0, o.requests, %1$s, o.queue_max_ms, o.queue_histogram, o.other_kinds from o
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
    $q$, grain, sums, case grain when 'day' then kept else '' end) using p_user, p_most;
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

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['drop_months(text, timestamptz)', 'drop_requests(timestamptz)',
    'erase_step(bigint, integer)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;

-- All rows there are will be the first part of the divided table, up to the end of a month. They are checked while
-- reads and writes go on (0016), so that dividing the table (0017) need not read them.
do $$
begin
  execute (select format('alter table rollup_minute add constraint rollup_minute_ends check (at < %L) not valid',
      (date_trunc('month', greatest(max(at), now() + interval '2 days') at time zone 'UTC') + interval '1 month')
        at time zone 'UTC')
    -- Everybody's rows have every minute that there is.
    from rollup_minute where user_id = 0 and token_id = 0);
end $$;
