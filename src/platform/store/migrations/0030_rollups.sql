-- Usage by minute, hour and day, kept for good. close_request goes on counting into usage_minute alone (one row, spread over slots);
-- fold_usage moves what has come to rest there into these three tables, in one transaction: every figure is the sum of what was folded and
-- what was not yet, so it equals a recount of the requests at any moment, whenever folding runs, and also where it never does.
--
-- Null is zero: most counters of most rows are, and a null takes a bit. user_id 0, token_id 0 is everybody: the administrator's log counts by it.

create table rollup_minute (
  user_id bigint not null,
  at timestamptz not null,
  token_id bigint not null,
  requests integer not null,
  file_success integer, file_with_errors integer, file_error integer,
  msv_success integer, msv_with_errors integer, msv_error integer,
  c2pa_success integer, c2pa_with_errors integer, c2pa_error integer,
  hls integer, dash integer, http integer, https integer, s3 integer, ftp integer, rtmp integer, rtsp integer, srt integer,
  timed_out integer,
  processing_ms bigint, io_bytes bigint, queue_ms bigint,
  queue_max_ms integer not null,
  -- Queue times by queue_bucket(): bucket << 32 | count, for those that were hit.
  queue_histogram bigint[] not null,
  primary key (user_id, at, token_id)
) with (fillfactor = 90);
create table rollup_hour (like rollup_minute including all) with (fillfactor = 90);
create table rollup_day (like rollup_minute including all) with (fillfactor = 70);

create function add_histogram(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select coalesce(array_agg((bucket << 32) | n order by bucket), '{}') from (
    select e >> 32 bucket, sum(e & 4294967295)::bigint n from unnest(a || b) e group by 1) s
$$;

-- Counts where they belong. `rows`: of usage_minute, or of requests written the same way.
create function add_usage(rows usage_minute[]) returns void language plpgsql as $$
declare
  counters constant text[] := array['file_success', 'file_with_errors', 'file_error', 'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error',
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

-- How many rows were moved. One at a time, whoever calls: the second one finds nothing to do. Rows that a closer holds are left for the next time.
create function fold_usage(p_rest interval default '2 minutes', p_most integer default 2000) returns integer language plpgsql as $$
declare
  rows usage_minute[];
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.fold')) then return 0; end if;
  with taken as (
    delete from usage_minute where ctid = any(array(select ctid from usage_minute where minute < now() - p_rest limit p_most for update skip locked)) returning usage_minute)
  select array_agg(usage_minute) into rows from taken;
  if rows is null then return 0; end if;
  perform add_usage(rows);
  return cardinality(rows);
end $$;

-- The log: its pages, counts and filters by enumerated values come from these alone, by index-only scans. The update that ends a request
-- touches indexed columns already (state), so the wider indexes cost bytes and no further kind of write.
create index requests_log_user on requests (user_id, submitted_at desc, id desc) include (token_id, kind, state, ffprobe_state, mediainfo_state, report_state);
create index requests_log on requests (submitted_at desc, id desc) include (user_id, token_id, kind, state, ffprobe_state, mediainfo_state, report_state);
-- What runs and waits now, of a user or a token: few rows, whatever the log holds.
create index requests_open_user on requests (user_id, token_id) where state = 'open';
-- The wider ones serve what these did.
drop index requests_user;
drop index requests_token;
