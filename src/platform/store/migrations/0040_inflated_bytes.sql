-- What a result inflates to stands beside the request, so that whoever reads the result knows what it costs before it is read.
-- Null: recorded by a version before this one.
alter table requests add column inflated_bytes integer;

-- As in 0005, with the inflated size behind everything else.
create function close_request(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text, p_attempt integer, p_started_at timestamptz,
  p_tools jsonb, p_ffprobe text, p_mediainfo text, p_report text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid, p_inflated_bytes integer,
  out closed boolean, out waiter text, out queue_time_ms integer)
language plpgsql as $$
declare
  r record;
  ended timestamptz := clock_timestamp();
  queued integer := greatest(0, least(2147483647, extract(epoch from coalesce(p_started_at, ended) - p_submitted_at) * 1000));
  bucket integer := queue_bucket(queued);
  histogram integer[];
begin
  update requests q set state = p_state, status = p_status, reason = p_reason, error = p_error, attempt = p_attempt, started_at = p_started_at,
      ended_at = ended, queue_time_ms = queued, tools = p_tools, ffprobe_state = p_ffprobe, mediainfo_state = p_mediainfo, report_state = p_report,
      usage_ms = p_usage_ms, io_bytes = p_io_bytes, has_body = p_body is not null, closer = p_closer, inflated_bytes = p_inflated_bytes
    where q.id = p_id and q.submitted_at = p_submitted_at and q.state = 'open'
    returning q.waiter, q.token_id, q.user_id, q.kind, q.scheme, q.webhook_url into r;
  closed := found;
  if not closed then
    select q.waiter, coalesce(q.queue_time_ms, 0), coalesce(q.closer = p_closer, false) into waiter, queue_time_ms, closed from requests q where q.id = p_id and q.submitted_at = p_submitted_at;
    queue_time_ms := coalesce(queue_time_ms, 0);
    closed := coalesce(closed, false);
    return;
  end if;
  waiter := r.waiter;
  queue_time_ms := queued;
  if p_body is not null then insert into envelopes (id, submitted_at, body) values (p_id, p_submitted_at, p_body); end if;
  if r.webhook_url is not null then
    insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url) values (p_id, p_submitted_at, r.token_id, r.user_id, r.webhook_url) on conflict do nothing;
  end if;
  -- Last, because this row is the one that other closers may wait for.
  histogram := array_fill(0, array[67]);
  histogram[bucket] := 1;
  insert into usage_minute as u (token_id, minute, kind, scheme, slot, user_id, requests, success, with_errors, errors, timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram)
    values (r.token_id, date_trunc('minute', p_submitted_at), r.kind, r.scheme, pg_backend_pid() % 8, r.user_id, 1,
      (p_state = 'success')::integer, (p_state = 'with-errors')::integer, (p_state = 'error')::integer, (p_reason = 'QueueTimeout')::integer,
      p_usage_ms, p_io_bytes, queued, queued, histogram)
    on conflict (token_id, minute, kind, scheme, slot) do update set
      requests = u.requests + 1, success = u.success + excluded.success, with_errors = u.with_errors + excluded.with_errors, errors = u.errors + excluded.errors,
      timed_out = u.timed_out + excluded.timed_out, processing_ms = u.processing_ms + excluded.processing_ms, io_bytes = u.io_bytes + excluded.io_bytes,
      queue_ms = u.queue_ms + excluded.queue_ms, queue_max_ms = greatest(u.queue_max_ms, excluded.queue_max_ms),
      queue_histogram[bucket] = u.queue_histogram[bucket] + 1;
end $$;

-- For replicas of the version before, while both run.
create or replace function close_request(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text, p_attempt integer, p_started_at timestamptz,
  p_tools jsonb, p_ffprobe text, p_mediainfo text, p_report text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid,
  out closed boolean, out waiter text, out queue_time_ms integer)
language sql as $$
  select * from close_request(p_id, p_submitted_at, p_state, p_status, p_reason, p_error, p_attempt, p_started_at,
    p_tools, p_ffprobe, p_mediainfo, p_report, p_usage_ms, p_io_bytes, p_body, p_closer, null)
$$;
