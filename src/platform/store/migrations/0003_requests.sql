-- The two hot calls: each is one round trip and one transaction.

-- Queue times in buckets a quarter of an octave wide (a factor of 1.19): bucket 1 is 0 ms, the last one everything from 78 s on.
-- The middle of a bucket is at most 9 % away from what fell into it.
create function queue_bucket(ms integer) returns integer language sql immutable parallel safe as $$
  select case when ms < 1 then 1 else least(2 + floor(4 * ln(ms::double precision) / ln(2.0::double precision) + 1e-9)::integer, 67) end
$$;

-- GCRA: `per_minute` calls may come at once, and then one every 60/per_minute seconds. Time is read when the row is locked, not when the statement began.
create function take_rate(p_scope text, p_id bigint, p_per_minute integer,
  out allowed boolean, out remaining integer, out reset_ms integer, out retry_after_ms integer)
language plpgsql as $$
declare
  step interval := interval '1 minute' / p_per_minute;
  t timestamptz;
  ahead double precision;
begin
  insert into rate_limits as r (scope, id, tat) values (p_scope, p_id, clock_timestamp() + step)
    on conflict (scope, id) do update set tat = greatest(r.tat, clock_timestamp()) + step
    where greatest(r.tat, clock_timestamp()) + step <= clock_timestamp() + interval '1 minute'
    returning tat into t;
  allowed := found;
  if not allowed then select r.tat into t from rate_limits r where r.scope = p_scope and r.id = p_id; end if;
  ahead := greatest(0, extract(epoch from t - clock_timestamp()) * 1000);
  remaining := case when allowed then greatest(0, floor((60000 - ahead) * p_per_minute / 60000 + 1e-6)) else 0 end;
  reset_ms := ceil(ahead);
  retry_after_ms := case when allowed then 0 else ceil(greatest(1, ahead + 60000.0 / p_per_minute - 60000)) end;
end $$;

-- Opens a request: a repeat of the same id is `opened` again and counts no second time.
create function open_request(
  p_id uuid, p_submitted_at timestamptz, p_token bigint, p_user bigint, p_kind text, p_display text, p_scheme text,
  p_request jsonb, p_tools jsonb, p_queue_timeout integer, p_timeout integer, p_waiter text, p_webhook text,
  p_key text, p_body_sha256 bytea, p_per_minute integer,
  out outcome text, out first_id uuid, out remaining integer, out reset_ms integer, out retry_after_ms integer)
language plpgsql as $$
declare
  taken record;
  seen record;
begin
  perform 1 from requests where id = p_id and submitted_at = p_submitted_at;
  if found then
    outcome := 'opened'; remaining := p_per_minute; reset_ms := 0;
    return;
  end if;
  remaining := 0; reset_ms := 0;
  if p_per_minute > 0 then
    select * into taken from take_rate('token', p_token, p_per_minute);
    remaining := taken.remaining; reset_ms := taken.reset_ms; retry_after_ms := taken.retry_after_ms;
    if not taken.allowed then outcome := 'rate-limited'; return; end if;
  end if;
  if p_key is not null then
    insert into idempotency as i (token_id, key, body_sha256, request_id) values (p_token, p_key, p_body_sha256, p_id)
      on conflict (token_id, key) do update set body_sha256 = excluded.body_sha256, request_id = excluded.request_id, created_at = now()
      where i.created_at < now() - interval '24 hours';
    if not found then
      select request_id, body_sha256 into seen from idempotency where token_id = p_token and key = p_key;
      if seen.request_id <> p_id then
        first_id := seen.request_id;
        outcome := case when seen.body_sha256 = p_body_sha256 then 'repeated' else 'idempotency-conflict' end;
        return;
      end if;
    end if;
  end if;
  insert into requests (id, submitted_at, token_id, user_id, kind, display, scheme, request, tools, queue_timeout_ms, timeout_ms, waiter, webhook_url)
    values (p_id, p_submitted_at, p_token, p_user, p_kind, p_display, p_scheme, p_request, p_tools, p_queue_timeout, p_timeout, p_waiter, p_webhook)
    on conflict do nothing;
  outcome := 'opened';
end $$;

-- Writes the one end of a request, with its envelope, its usage and its webhook. A second end changes nothing and is told what the first one said.
create function close_request(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text, p_attempt integer, p_started_at timestamptz,
  p_tools jsonb, p_ffprobe text, p_mediainfo text, p_report text, p_usage_ms integer, p_io_bytes bigint, p_body bytea,
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
      usage_ms = p_usage_ms, io_bytes = p_io_bytes, has_body = p_body is not null
    where q.id = p_id and q.submitted_at = p_submitted_at and q.state = 'open'
    returning q.waiter, q.token_id, q.user_id, q.kind, q.scheme, q.webhook_url into r;
  closed := found;
  if not closed then
    select q.waiter, coalesce(q.queue_time_ms, 0) into waiter, queue_time_ms from requests q where q.id = p_id and q.submitted_at = p_submitted_at;
    queue_time_ms := coalesce(queue_time_ms, 0);
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
