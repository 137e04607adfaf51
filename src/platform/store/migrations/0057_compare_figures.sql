-- Comparisons are a kind of their own in the figures.
alter table rollup_minute add column compare_success integer, add column compare_with_errors integer, add column compare_error integer;
alter table rollup_hour add column compare_success integer, add column compare_with_errors integer, add column compare_error integer;
alter table rollup_day add column compare_success integer, add column compare_with_errors integer, add column compare_error integer;

-- As in 0034: the keys of the rollups by minute and hour hold their rows whole.
create unique index rollup_minute_all on rollup_minute (user_id, at, token_id) include (
  requests, file_success, file_with_errors, file_error, msv_success, msv_with_errors, msv_error, c2pa_success, c2pa_with_errors, c2pa_error,
  compare_success, compare_with_errors, compare_error,
  hls, dash, http, https, s3, ftp, rtmp, rtsp, srt, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram);
alter table rollup_minute drop constraint rollup_minute_pkey;
alter table rollup_minute add constraint rollup_minute_pkey primary key using index rollup_minute_all;
create unique index rollup_hour_all on rollup_hour (user_id, at, token_id) include (
  requests, file_success, file_with_errors, file_error, msv_success, msv_with_errors, msv_error, c2pa_success, c2pa_with_errors, c2pa_error,
  compare_success, compare_with_errors, compare_error,
  hls, dash, http, https, s3, ftp, rtmp, rtsp, srt, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram);
alter table rollup_hour drop constraint rollup_hour_pkey;
alter table rollup_hour add constraint rollup_hour_pkey primary key using index rollup_hour_all;

-- As in 0030, with comparisons.
create or replace function add_usage(rows usage_minute[]) returns void language plpgsql as $$
declare
  counters constant text[] := array['file_success', 'file_with_errors', 'file_error', 'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error', 'compare_success', 'compare_with_errors', 'compare_error',
    'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt', 'timed_out', 'processing_ms', 'io_bytes', 'queue_ms'];
  grain text;
  names text := array_to_string(counters, ', ');
  added text := (select string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) + coalesce(excluded.%1$I, 0), 0)', c), ', ') from unnest(counters) c);
begin
  foreach grain in array array['minute', 'hour', 'day'] loop
    execute format($q$
      with taken as (
        select o.user_id, date_trunc(%1$L, u.minute, 'UTC') at, o.token_id, u.kind, u.scheme, u.requests, u.success, u.with_errors, u.errors, u.timed_out, u.processing_ms, u.io_bytes, u.queue_ms, u.queue_max_ms, u.queue_histogram
        from unnest($1) u cross join lateral (values (u.user_id, u.token_id), (0, 0)) o (user_id, token_id)),
      hist as (
        select user_id, at, token_id, array_agg((bucket << 32) | n order by bucket) queue_histogram from (
          select t.user_id, t.at, t.token_id, h.bucket, sum(h.n)::bigint n from taken t, unnest(t.queue_histogram) with ordinality h (n, bucket) where h.n > 0 group by 1, 2, 3, 4) s
        group by 1, 2, 3),
      sums as (
        select user_id, at, token_id, sum(requests)::integer requests,
          nullif(sum(success) filter (where kind = 'file'), 0)::integer file_success, nullif(sum(with_errors) filter (where kind = 'file'), 0)::integer file_with_errors, nullif(sum(errors) filter (where kind = 'file'), 0)::integer file_error,
          nullif(sum(success) filter (where kind = 'msv'), 0)::integer msv_success, nullif(sum(with_errors) filter (where kind = 'msv'), 0)::integer msv_with_errors, nullif(sum(errors) filter (where kind = 'msv'), 0)::integer msv_error,
          nullif(sum(success) filter (where kind = 'c2pa'), 0)::integer c2pa_success, nullif(sum(with_errors) filter (where kind = 'c2pa'), 0)::integer c2pa_with_errors, nullif(sum(errors) filter (where kind = 'c2pa'), 0)::integer c2pa_error,
          nullif(sum(success) filter (where kind = 'compare'), 0)::integer compare_success, nullif(sum(with_errors) filter (where kind = 'compare'), 0)::integer compare_with_errors, nullif(sum(errors) filter (where kind = 'compare'), 0)::integer compare_error,
          sum(requests) filter (where scheme = 'hls')::integer hls, sum(requests) filter (where scheme = 'dash')::integer dash, sum(requests) filter (where scheme = 'http')::integer http, sum(requests) filter (where scheme = 'https')::integer https,
          sum(requests) filter (where scheme = 's3')::integer s3, sum(requests) filter (where scheme = 'ftp')::integer ftp, sum(requests) filter (where scheme in ('rtmp', 'rtmps'))::integer rtmp,
          sum(requests) filter (where scheme in ('rtsp', 'rtsps'))::integer rtsp, sum(requests) filter (where scheme = 'srt')::integer srt,
          nullif(sum(timed_out), 0)::integer timed_out, nullif(sum(processing_ms), 0)::bigint processing_ms, nullif(sum(io_bytes), 0)::bigint io_bytes, nullif(sum(queue_ms), 0)::bigint queue_ms, max(queue_max_ms) queue_max_ms
        from taken group by 1, 2, 3)
      insert into %2$I as r (user_id, at, token_id, requests, %3$s, queue_max_ms, queue_histogram)
        select s.user_id, s.at, s.token_id, s.requests, %4$s, s.queue_max_ms, h.queue_histogram from sums s join hist h using (user_id, at, token_id)
      on conflict (user_id, at, token_id) do update set requests = r.requests + excluded.requests, %5$s, queue_max_ms = greatest(r.queue_max_ms, excluded.queue_max_ms),
        queue_histogram = add_histogram(r.queue_histogram, excluded.queue_histogram)
    $q$, grain, 'rollup_' || grain, names, (select string_agg('s.' || quote_ident(c), ', ') from unnest(counters) c), added) using rows;
  end loop;
end $$;

-- As in 0031, with comparisons; runs as the owner as 0050 has it.
create or replace function erase_step(p_user bigint, p_most integer default 1000) returns integer language plpgsql as $$
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
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error', 'compare_success', 'compare_with_errors', 'compare_error', 'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt', 'timed_out', 'processing_ms', 'io_bytes', 'queue_ms']) c;
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
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
begin
  execute 'alter function erase_step(bigint, integer) security definer';
  execute format('alter function erase_step(bigint, integer) set search_path = %s', path);
end $$;
