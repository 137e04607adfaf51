-- Usage: what was requested and what it cost, by minute, hour and day, and the monthly quotas that it counts against.
--
-- close_request (0003_requests.sql) counts into usage_minute alone: one row, spread over slots. fold_usage moves rows
-- that no longer change into the three rollups, in one transaction: every figure is the sum of what was folded and what
-- was not yet. So it equals a recount of the requests at any moment, whenever folding runs, and also where it never
-- does. Figures by hour and day are kept for good.

-- Queue times in buckets a quarter of an octave wide (a factor of 1.19): bucket 1 is 0 ms, the last one everything from
-- 78 s on. The middle of a bucket is at most 9 % away from any time in it.
create function queue_bucket(ms integer) returns integer language sql immutable parallel safe as $$
  select case when ms < 1 then 1
    else least(2 + floor(4 * ln(ms::double precision) / ln(2.0::double precision) + 1e-9)::integer, 67) end
$$;

-- Counted in the transaction that closes the request, by the minute of its submission. Closers of one token would wait
-- for one row until the other's commit is on disk: `slot` spreads them by connection.
create table usage_minute (
  token_id bigint not null,
  minute timestamptz not null,
  kind text not null,
  scheme text not null,
  slot smallint not null,
  user_id bigint not null,
  requests integer not null,
  success integer not null,
  with_errors integer not null,
  errors integer not null,
  timed_out integer not null,
  processing_ms bigint not null,
  io_bytes bigint not null,
  queue_ms bigint not null,
  queue_max_ms integer not null,
  -- Queue times, counted in the buckets of queue_bucket(): a p95 over any range comes from their sums.
  queue_histogram integer[] not null,
  -- Seconds of media that content checks decoded. Null is zero.
  decoded_seconds bigint,
  primary key (token_id, minute, kind, scheme, slot)
) with (fillfactor = 50);
create index usage_minute_user on usage_minute (user_id, minute);

-- Null is zero: most counters of most rows are, and a null takes a bit. User 0 with token 0 is everybody: the
-- administrator's log counts by it.
create table rollup_day (
  user_id bigint not null,
  at timestamptz not null,
  token_id bigint not null,
  requests integer not null,
  file_success integer, file_with_errors integer, file_error integer,
  msv_success integer, msv_with_errors integer, msv_error integer,
  c2pa_success integer, c2pa_with_errors integer, c2pa_error integer,
  compare_success integer, compare_with_errors integer, compare_error integer,
  -- Requests of a kind without columns of its own, {"<kind>_<end>": count}: a new kind needs no migration. And what was
  -- decoded, as `decoded_seconds`: with this column the keys of the other two rollups have 32, the most that an index
  -- may have.
  other_kinds jsonb,
  hls integer, dash integer, http integer, https integer, s3 integer, ftp integer, rtmp integer, rtsp integer,
  srt integer,
  timed_out integer,
  processing_ms bigint, io_bytes bigint, queue_ms bigint,
  queue_max_ms integer not null,
  -- Queue times by queue_bucket(): bucket << 32 | count, without empty buckets.
  queue_histogram bigint[] not null,
  primary key (user_id, at, token_id)
) with (fillfactor = 70);

-- Their keys hold their rows whole. Folding writes the rows of all users side by side in the order of time, so a user's
-- year of hours lies in as many blocks as it has rows; in the key it lies together. Days are few and change with every
-- fold: their key is plain, so their rows are changed in place.
create table rollup_hour (like rollup_day including all excluding indexes,
  primary key (user_id, at, token_id) include (
    requests, file_success, file_with_errors, file_error, msv_success, msv_with_errors, msv_error,
    c2pa_success, c2pa_with_errors, c2pa_error, compare_success, compare_with_errors, compare_error,
    hls, dash, http, https, s3, ftp, rtmp, rtsp, srt, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms,
    queue_histogram, other_kinds)
) with (fillfactor = 90);
-- Figures by minute are deleted by age, so they are divided by month.
create table rollup_minute (like rollup_hour including all) partition by range (at);
create table rollup_minute_default partition of rollup_minute default;

create function add_histogram(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select coalesce(array_agg((bucket << 32) | n order by bucket), '{}') from (
    select e >> 32 bucket, sum(e & 4294967295)::bigint n from unnest(a || b) e group by 1) s
$$;

create function subtract_histogram(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select coalesce(array_agg((bucket << 32) | n order by bucket), '{}') from (
    select e >> 32 bucket, sum(case when mine then 1 else -1 end * (e & 4294967295))::bigint n
    from (select unnest(a) e, true mine union all select unnest(b), false) s group by 1) s where n > 0
$$;

create function add_counts(a jsonb, b jsonb, sign integer) returns jsonb language sql immutable parallel safe as $$
  select jsonb_object_agg(key, n) from (
    select key, sum(n) n from (
      select key, value::bigint n from jsonb_each_text(a)
      union all select key, sign * value::bigint from jsonb_each_text(b)) e
    group by key having sum(n) <> 0) s
$$;

-- The columns of a rollup that are sums.
create function rollup_counters() returns text[] language sql immutable parallel safe as $$
  select array['file_success', 'file_with_errors', 'file_error',
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error',
    'compare_success', 'compare_with_errors', 'compare_error',
    'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt',
    'timed_out', 'processing_ms', 'io_bytes', 'queue_ms']
$$;

-- Adds rows of usage_minute, or requests in the same form, to the three rollups.
create function add_usage(rows usage_minute[]) returns void language plpgsql as $$
declare
  counters constant text[] := rollup_counters();
  grain text;
  names text := array_to_string(counters, ', ');
  added text := (select string_agg(
    format('%1$I = nullif(coalesce(r.%1$I, 0) + coalesce(excluded.%1$I, 0), 0)', c), ', ') from unnest(counters) c);
begin
  foreach grain in array array['minute', 'hour', 'day'] loop
    execute format($q$
      with taken as (
        select o.user_id, date_trunc(%1$L, u.minute, 'UTC') at, o.token_id, u.kind, u.scheme,
          u.requests, u.success, u.with_errors, u.errors, u.timed_out,
          u.processing_ms, u.io_bytes, u.queue_ms, u.queue_max_ms, u.queue_histogram, u.decoded_seconds
        from unnest($1) u
          cross join lateral (values (u.user_id, u.token_id), (0, 0)) o (user_id, token_id)),
      hist as (
        select user_id, at, token_id, array_agg((bucket << 32) | n order by bucket) queue_histogram from (
          select t.user_id, t.at, t.token_id, h.bucket, sum(h.n)::bigint n
          from taken t, unnest(t.queue_histogram) with ordinality h (n, bucket) where h.n > 0 group by 1, 2, 3, 4) s
        group by 1, 2, 3),
      others as (
        select user_id, at, token_id, jsonb_object_agg(name, n) other_kinds from (
          select t.user_id, t.at, t.token_id, t.kind || '_' || e.name name, sum(e.n) n
          from taken t cross join lateral (
            values ('success', t.success), ('with_errors', t.with_errors), ('error', t.errors)) e (name, n)
          where t.kind not in ('file', 'msv', 'c2pa', 'compare') and e.n > 0 group by 1, 2, 3, 4
          union all
          select user_id, at, token_id, 'decoded_seconds', sum(decoded_seconds)
          from taken where decoded_seconds > 0 group by 1, 2, 3) s
        group by 1, 2, 3),
      -- By itself: of its join with sums Postgres expects one row, and looked for others in a loop (0.4 s, not 0.1).
      more as materialized (select * from hist left join others using (user_id, at, token_id)),
      sums as (
        select user_id, at, token_id, sum(requests)::integer requests,
          nullif(sum(success) filter (where kind = 'file'), 0)::integer file_success,
          nullif(sum(with_errors) filter (where kind = 'file'), 0)::integer file_with_errors,
          nullif(sum(errors) filter (where kind = 'file'), 0)::integer file_error,
          nullif(sum(success) filter (where kind = 'msv'), 0)::integer msv_success,
          nullif(sum(with_errors) filter (where kind = 'msv'), 0)::integer msv_with_errors,
          nullif(sum(errors) filter (where kind = 'msv'), 0)::integer msv_error,
          nullif(sum(success) filter (where kind = 'c2pa'), 0)::integer c2pa_success,
          nullif(sum(with_errors) filter (where kind = 'c2pa'), 0)::integer c2pa_with_errors,
          nullif(sum(errors) filter (where kind = 'c2pa'), 0)::integer c2pa_error,
          nullif(sum(success) filter (where kind = 'compare'), 0)::integer compare_success,
          nullif(sum(with_errors) filter (where kind = 'compare'), 0)::integer compare_with_errors,
          nullif(sum(errors) filter (where kind = 'compare'), 0)::integer compare_error,
          sum(requests) filter (where scheme = 'hls')::integer hls,
          sum(requests) filter (where scheme = 'dash')::integer dash,
          sum(requests) filter (where scheme = 'http')::integer http,
          sum(requests) filter (where scheme = 'https')::integer https,
          sum(requests) filter (where scheme = 's3')::integer s3,
          sum(requests) filter (where scheme = 'ftp')::integer ftp,
          sum(requests) filter (where scheme in ('rtmp', 'rtmps'))::integer rtmp,
          sum(requests) filter (where scheme in ('rtsp', 'rtsps'))::integer rtsp,
          sum(requests) filter (where scheme = 'srt')::integer srt,
          nullif(sum(timed_out), 0)::integer timed_out,
          nullif(sum(processing_ms), 0)::bigint processing_ms,
          nullif(sum(io_bytes), 0)::bigint io_bytes,
          nullif(sum(queue_ms), 0)::bigint queue_ms,
          max(queue_max_ms) queue_max_ms
        from taken group by 1, 2, 3)
      insert into %2$I as r (user_id, at, token_id, requests, %3$s, queue_max_ms, queue_histogram, other_kinds)
        select s.user_id, s.at, s.token_id, s.requests, %4$s, s.queue_max_ms, m.queue_histogram, m.other_kinds
          from sums s join more m using (user_id, at, token_id)
      on conflict (user_id, at, token_id) do update set requests = r.requests + excluded.requests, %5$s,
        queue_max_ms = greatest(r.queue_max_ms, excluded.queue_max_ms),
        queue_histogram = add_histogram(r.queue_histogram, excluded.queue_histogram),
        other_kinds = case when excluded.other_kinds is null then r.other_kinds
          else add_counts(r.other_kinds, excluded.other_kinds, 1) end
    $q$, grain, 'rollup_' || grain, names,
      (select string_agg('s.' || quote_ident(c), ', ') from unnest(counters) c), added) using rows;
  end loop;
end $$;

-- Returns the number of rows that were moved. One call at a time: a second one finds nothing to do. Rows that a closer
-- holds are left for the next time.
create function fold_usage(p_rest interval default '2 minutes', p_most integer default 2000)
returns integer language plpgsql as $$
declare
  rows usage_minute[];
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.fold')) then return 0; end if;
  with taken as (
    delete from usage_minute where ctid = any(array(
      select ctid from usage_minute where minute < now() - p_rest limit p_most for update skip locked))
    returning usage_minute)
  select array_agg(usage_minute) into rows from taken;
  if rows is null then return 0; end if;
  perform add_usage(rows);
  return cardinality(rows);
end $$;

-- What a token, a user or an account has used of a month (UTC): from the rollups, what is not folded yet, and what runs
-- now.
create function month_usage(p_users bigint[], p_token bigint, p_month timestamptz,
  out requests bigint, out processing_ms bigint, out io_bytes bigint)
language plpgsql stable as $$
begin
  select coalesce(sum(u.n), 0), coalesce(sum(u.ms), 0), coalesce(sum(u.bytes), 0)
    into requests, processing_ms, io_bytes from (
    select r.requests n, r.processing_ms ms, r.io_bytes bytes from rollup_day r
      where r.user_id = any(p_users) and (p_token is null or r.token_id = p_token)
        and r.at >= p_month and r.at < p_month + interval '1 month'
    union all
    select m.requests, m.processing_ms, m.io_bytes from usage_minute m
      where m.user_id = any(p_users) and (p_token is null or m.token_id = p_token)
        and m.minute >= p_month and m.minute < p_month + interval '1 month') u;
  requests := requests + (select count(*) from requests r
    where r.state = 'open' and r.user_id = any(p_users) and (p_token is null or r.token_id = p_token)
      and r.submitted_at >= p_month and r.submitted_at < p_month + interval '1 month');
end $$;

-- Whose usage counts against a quota.
create function quota_users(p_quota jsonb, p_user bigint, p_root bigint) returns bigint[] language sql stable as $$
  select case
    when p_quota->>'scope' = 'account' then (select array_agg(id) from users where id = p_root or root_id = p_root)
    when p_quota ? 'user' then (select array_agg(id) from users
      where id = (p_quota->>'user')::bigint or parent_ids @> array[(p_quota->>'user')::bigint])
    else array[p_user]
  end
$$;

-- What requests that ended have decoded in a month (UTC).
create function month_decoded(p_users bigint[], p_token bigint, p_month timestamptz) returns bigint
language sql stable as $$
  select coalesce(sum(u.n), 0)::bigint from (
    select (r.other_kinds->>'decoded_seconds')::bigint n from rollup_day r
      where r.user_id = any(p_users) and (p_token is null or r.token_id = p_token)
        and r.at >= p_month and r.at < p_month + interval '1 month'
    union all
    select m.decoded_seconds from usage_minute m
      where m.user_id = any(p_users) and (p_token is null or m.token_id = p_token)
        and m.minute >= p_month and m.minute < p_month + interval '1 month') u
$$;

-- The least that any of these quotas leaves to decode; null: none limits it.
create function decoded_left(p_quotas jsonb, p_token bigint, p_user bigint, p_root bigint, p_month timestamptz)
returns bigint language sql stable as $$
  select min(greatest(0, (q->'limits'->>'decoded-seconds')::numeric - month_decoded(
      quota_users(q, p_user, p_root), case when q->>'scope' = 'token' then p_token end, p_month)))::bigint
    from jsonb_array_elements(p_quotas) q where q->'limits' ? 'decoded-seconds'
$$;

-- The first of these quotas that is used up, including this request (its row is there already); null: none.
-- p_quotas: [{scope: token | user | account, user, limits: {request-count, processing-time, data-processed,
-- decoded-seconds}}]. `user`: the quota of a user between the root user and the token's, which counts that user and all
-- below.
create function quota_exceeded(
  p_quotas jsonb, p_token bigint, p_user bigint, p_root bigint, p_month timestamptz,
  out exceeded text, out nearest bigint)
language plpgsql stable as $$
declare
  quota jsonb;
  used record;
begin
  for quota in select * from jsonb_array_elements(p_quotas) loop
    select * into used from month_usage(
      quota_users(quota, p_user, p_root), case when quota->>'scope' = 'token' then p_token end, p_month);
    exceeded := case
      when used.requests > (quota->'limits'->>'request-count')::numeric then 'request-count'
      when used.processing_ms >= (quota->'limits'->>'processing-time')::numeric then 'processing-time'
      when used.io_bytes >= (quota->'limits'->>'data-processed')::numeric then 'data-processed'
    end;
    if exceeded is not null then return; end if;
    nearest := least(nearest, (quota->'limits'->>'request-count')::numeric - used.requests);
  end loop;
  if decoded_left(p_quotas, p_token, p_user, p_root, p_month) = 0 then exceeded := 'decoded-seconds'; end if;
end $$;
