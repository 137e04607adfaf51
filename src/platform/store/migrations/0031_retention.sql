-- What goes when its time has come, and what goes because somebody asked for it. Every call is one short step: nothing holds a lock for long.

-- Steps over the old envelopes go by time; rows lie in the order of time, so a few bytes per block find them.
create index envelopes_time on envelopes using brin (submitted_at) with (pages_per_range = 16);

-- What is older is gone: from requests.since on, a range of statistics may count broken minutes from the requests.
insert into settings (key, value) values ('requests.since', to_jsonb('-infinity'::text)), ('envelopes.since', to_jsonb('-infinity'::text));

create function month_partitions(p_parent regclass, out part regclass, out ends timestamptz) returns setof record language sql stable as $$
  select c.oid::regclass, (to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month') at time zone 'UTC'
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = p_parent and c.relname ~ '_[0-9]{6}$'
$$;

-- Whoever asks for the lock of the whole table holds up all who come after: not for long, there is another time.
create function drop_partition(p_part regclass) returns boolean language plpgsql as $$
begin
  set local lock_timeout = '1s';
  execute format('drop table %s', p_part);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Envelopes older than p_before: whole months are dropped, then the rest goes in steps of ten minutes. True: there is more to do.
create function drop_envelopes(p_before timestamptz, p_step interval default '10 minutes') returns boolean language plpgsql as $$
declare
  since timestamptz;
  old record;
  until timestamptz;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.envelopes')) then return false; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = 'envelopes.since';
  if since >= p_before then return false; end if;
  for old in select part from month_partitions('envelopes') where ends <= p_before loop
    perform drop_partition(old.part);
  end loop;
  if since = '-infinity' then
    select min(submitted_at) into since from envelopes;
    since := coalesce(since, p_before);
  end if;
  since := greatest(since, (select min(ends) - interval '1 month' from month_partitions('envelopes')));
  until := least(p_before, since + p_step);
  delete from envelopes where submitted_at < until and (submitted_at >= since - interval '1 day');
  delete from envelopes_default where submitted_at < until;
  update settings set value = to_jsonb(until::text) where key = 'envelopes.since';
  return until < p_before;
end $$;

-- Requests of whole months that ended before p_before. Said first, done at the next call: a replica that has not heard yet still finds them.
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

-- Users whose data has to go. The row stays for a day after: a request that was under way when its user went leaves nothing either.
create table erasures (
  user_id bigint primary key,
  token_ids bigint[] not null,
  asked_at timestamptz not null default now()
);

-- The user, who is below him, and their tokens are gone at once; what they did goes in steps (erase_step). Which users these were.
create function erase_user(p_user bigint) returns bigint[] language plpgsql as $$
declare
  gone bigint[];
begin
  with recursive below (id) as (select p_user union select u.id from users u join below b on u.parent_id = b.id or u.root_id = b.id)
  select array_agg(id) into gone from below where id in (select id from users);
  if gone is null then return '{}'; end if;
  insert into erasures (user_id, token_ids) select g, coalesce((select array_agg(t.id) from tokens t where t.user_id = g), '{}') from unnest(gone) g on conflict (user_id) do nothing;
  delete from tokens where user_id = any(gone);
  delete from users where id = any(gone);
  return gone;
end $$;

create function subtract_histogram(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select coalesce(array_agg((bucket << 32) | n order by bucket), '{}') from (
    select e >> 32 bucket, sum(case when mine then 1 else -1 end * (e & 4294967295))::bigint n
    from (select unnest(a) e, true mine union all select unnest(b), false) s group by 1) s where n > 0
$$;

-- How many rows went; 0: nothing is left. What was counted for everybody goes with what was counted for him (the longest queue time stays an upper bound).
create function erase_step(p_user bigint, p_most integer default 1000) returns integer language plpgsql as $$
declare
  ids uuid[];
  times timestamptz[];
  grain text;
  gone integer;
  sums text;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.erase')) then return 0; end if;
  select array_agg(r.id), array_agg(r.submitted_at) into ids, times from (select r.id, r.submitted_at from requests r where r.user_id = p_user limit p_most) r;
  if ids is not null then
    delete from envelopes e using unnest(ids, times) x (id, submitted_at) where e.id = x.id and e.submitted_at = x.submitted_at;
    delete from requests r using unnest(ids, times) x (id, submitted_at) where r.id = x.id and r.submitted_at = x.submitted_at;
    return cardinality(ids);
  end if;
  -- Nobody may fold what is being taken away.
  perform pg_advisory_xact_lock(hashtext('probeyard.fold'));
  delete from usage_minute where user_id = p_user;
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  select string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) - coalesce(o.%1$I, 0), 0)', c), ', ') into sums from unnest(array['file_success', 'file_with_errors', 'file_error',
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error', 'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt', 'timed_out', 'processing_ms', 'io_bytes', 'queue_ms']) c;
  foreach grain in array array['minute', 'hour', 'day'] loop
    -- One of his rows per moment and turn: an UPDATE changes a row of everybody's once.
    execute format($q$
      with o as (delete from rollup_%1$s where (user_id, at, token_id) in (
          select distinct on (at) user_id, at, token_id from (select user_id, at, token_id from rollup_%1$s where user_id = $1 order by at limit $2) s order by at) returning *)
      update rollup_%1$s r set requests = r.requests - o.requests, %2$s, queue_histogram = subtract_histogram(r.queue_histogram, o.queue_histogram)
        from o where r.user_id = 0 and r.at = o.at and r.token_id = 0
    $q$, grain, sums) using p_user, p_most;
    get diagnostics gone = row_count;
    if gone > 0 then return gone; end if;
  end loop;
  delete from webhook_outbox where user_id = p_user;
  delete from idempotency where token_id = any((select token_ids from erasures where user_id = p_user)::bigint[]);
  delete from rate_limits where (scope = 'user' and id = p_user) or (scope = 'token' and id = any((select token_ids from erasures where user_id = p_user)::bigint[]));
  delete from erasures where user_id = p_user and asked_at < now() - interval '1 day';
  return 0;
end $$;
