-- Requests: one row each, opened when it is accepted and closed exactly once, its result and its webhook. The two hot
-- calls, open_request and close_request, are one round trip and one transaction each.

-- No foreign keys: a row outlives users and tokens, and a key check per request would lock the token's row.
create table requests (
  id uuid not null,
  submitted_at timestamptz not null,
  token_id bigint not null,
  user_id bigint not null,
  kind text not null,
  state text not null default 'open' check (state in ('open', 'success', 'with-errors', 'error')),
  status smallint,
  attempt smallint not null default 0,
  queue_timeout_ms integer not null,
  timeout_ms integer not null,
  queue_time_ms integer,
  usage_ms integer,
  io_bytes bigint,
  started_at timestamptz,
  ended_at timestamptz,
  has_body boolean not null default false,
  -- Size of the inflated result, so that a reader knows its cost before it is read. Null: there is none.
  inflated_bytes integer,
  scheme text not null,
  display text not null,
  reason text,
  error text,
  waiter text,
  -- Sealed if it has user info (kept_url.ts).
  webhook_url text,
  -- Of one tool each, for the log's filters. Null: not requested.
  ffprobe_state text,
  mediainfo_state text,
  report_state text,
  -- The policy that the request was judged by, and the outcome. Null: none was requested. An inline policy has neither
  -- name nor revision.
  policy_name text,
  policy_revision integer,
  policy_outcome text,
  -- As requested while open, as they ended afterwards.
  tools jsonb not null,
  request jsonb not null,
  -- Each call that closes has an id: one that tries again after its answer was lost learns that it was the closer.
  closer uuid,
  -- Of one that was answered by a cached result: the request whose result that is, whether the user of this request may
  -- read that one and be told its id, and how long before this request the file was read, in seconds.
  cached_from uuid,
  cache_named boolean,
  cache_age_s integer,
  -- Seconds of media that content checks decoded. Null is zero.
  decoded_seconds integer,
  -- When its owner erased it (erase_request).
  erased_at timestamptz,
  primary key (id, submitted_at)
) partition by range (submitted_at);
create index requests_open on requests (submitted_at) where state = 'open';
-- What runs and waits now, of a user or a token: few rows, whatever the size of the log.
create index requests_open_user on requests (user_id, token_id) where state = 'open';
-- The log: its pages, counts and filters by enumerated values come from these alone, by index-only scans.
create index requests_log_user on requests (user_id, submitted_at desc, id desc)
  include (token_id, kind, state, ffprobe_state, mediainfo_state, report_state);
create index requests_log on requests (submitted_at desc, id desc)
  include (user_id, token_id, kind, state, ffprobe_state, mediainfo_state, report_state);

-- Pages of the log by part of an address: an index of the address's trigrams. pg_trgm comes with Postgres and is
-- trusted, but a server may lack it, or not let this role add it. Then such a page reads every request of its users and
-- its time. Requests that have not ended are left out: they are not in the log, and each would be written twice.
do $$
begin
  if not exists (select from pg_available_extensions where name = 'pg_trgm') then
    raise notice 'pg_trgm is not installed: the log has no index of addresses';
    return;
  end if;
  create extension if not exists pg_trgm;
  -- A request that fills the list of entries merges it: a short one holds it up for milliseconds.
  create index requests_address on requests using gin (display gin_trgm_ops)
    with (gin_pending_list_limit = 256) where state <> 'open';
exception when insufficient_privilege or undefined_object or feature_not_supported then
  raise notice 'pg_trgm cannot be used (%): the log has no index of addresses', sqlerrm;
end $$;

-- The runner's ResultBody, compressed by the runner: Postgres neither compresses it again nor cuts it up.
create table envelopes (
  id uuid not null,
  submitted_at timestamptz not null,
  body bytea not null,
  primary key (id, submitted_at)
) partition by range (submitted_at);
alter table envelopes alter column body set storage external;

-- A partition per month or day (UTC), made ahead (ensure_partitions), and a default one, so that a clock or a missed
-- run never refuses a request.

create table requests_default partition of requests default;
create table envelopes_default partition of envelopes default;

create table idempotency (
  token_id bigint not null,
  key text not null,
  body_sha256 bytea not null,
  request_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (token_id, key)
);
create index idempotency_created on idempotency (created_at);

-- A replica holds a lease on the row that it delivers, so one that ends loses nothing and two rarely send the same.
create table webhook_outbox (
  id uuid primary key default gen_random_uuid(),
  request_id uuid not null,
  submitted_at timestamptz not null,
  token_id bigint not null,
  user_id bigint not null,
  url text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts jsonb not null default '[]',
  -- The number of retries of the schedule that are used up.
  step integer not null default 0,
  next_at timestamptz not null default now(),
  lease_until timestamptz,
  leased_by uuid,
  created_at timestamptz not null default now(),
  -- When it was delivered or failed.
  ended_at timestamptz,
  -- Of a batch that goes on: how many of its items had ended. 0: of an end.
  progress integer not null default 0,
  unique (request_id, progress)
);
create index webhook_outbox_due on webhook_outbox (next_at) where state = 'pending';
-- Each batch with webhooks of its items may leave a million rows that are due. Found by time alone, those of others
-- were behind them: to pass by 200,000 took each claim 0.3 s.
create index webhook_outbox_of_user on webhook_outbox (user_id, next_at) where state = 'pending';
create index webhook_outbox_user on webhook_outbox (user_id, created_at desc);
create index webhook_outbox_created on webhook_outbox (created_at);

create function notify_webhook() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_webhooks', '');
  return null;
end $$;
create trigger webhook_outbox_notify after insert on webhook_outbox
  for each row execute function notify_webhook();
create trigger webhook_outbox_again after update of next_at on webhook_outbox
  for each row when (new.state = 'pending' and new.next_at <= now()) execute function notify_webhook();

-- Opens a request. A repeat of the same id is `opened` again and is not counted twice.
--
-- With quotas (as of quota_exceeded), far from the limit nothing waits; near it the requests of one account are counted
-- one after the other, so that of ten at once on ten replicas exactly those pass that still fit. Near is what may be
-- open and not be seen yet: 1,600 of a driver that opens 16 chunks of 100, and others. Null: none apply.
create function open_request(
  p_id uuid, p_submitted_at timestamptz, p_token_id bigint, p_user_id bigint, p_kind text, p_display text,
  p_scheme text, p_request jsonb, p_tools jsonb, p_queue_timeout_ms integer, p_timeout_ms integer, p_waiter text,
  p_webhook_url text, p_key text, p_body_sha256 bytea, p_per_minute integer, p_quotas jsonb, p_root_id bigint,
  out outcome text, out first_id uuid, out remaining integer, out reset_ms integer, out retry_after_ms integer,
  out exceeded text)
language plpgsql as $$
declare
  taken record;
  seen record;
  judged record;
  month timestamptz;
begin
  -- A call that is sent again after its answer was lost was judged the first time.
  perform 1 from requests where id = p_id and submitted_at = p_submitted_at;
  if found then
    outcome := 'opened'; remaining := p_per_minute; reset_ms := 0;
    return;
  end if;
  remaining := 0; reset_ms := 0;
  if p_per_minute > 0 then
    select * into taken from take_rate('token', p_token_id, p_per_minute);
    remaining := taken.remaining; reset_ms := taken.reset_ms; retry_after_ms := taken.retry_after_ms;
    if not taken.allowed then outcome := 'rate-limited'; return; end if;
  end if;
  if p_key is not null then
    insert into idempotency as i (token_id, key, body_sha256, request_id)
      values (p_token_id, p_key, p_body_sha256, p_id)
      on conflict (token_id, key) do update
        set body_sha256 = excluded.body_sha256, request_id = excluded.request_id, created_at = now()
        where i.created_at < now() - interval '24 hours';
    if not found then
      select request_id, body_sha256 into seen from idempotency where token_id = p_token_id and key = p_key;
      if seen.request_id <> p_id then
        first_id := seen.request_id;
        outcome := case when seen.body_sha256 = p_body_sha256 then 'repeated' else 'idempotency-conflict' end;
        return;
      end if;
    end if;
  end if;
  insert into requests (id, submitted_at, token_id, user_id, kind, display, scheme, request, tools,
      queue_timeout_ms, timeout_ms, waiter, webhook_url)
    values (p_id, p_submitted_at, p_token_id, p_user_id, p_kind, p_display, p_scheme, p_request, p_tools,
      p_queue_timeout_ms, p_timeout_ms, p_waiter, p_webhook_url)
    on conflict do nothing;
  outcome := 'opened';
  if p_quotas is null then return; end if;

  month := date_trunc('month', p_submitted_at, 'UTC');
  select * into judged from quota_exceeded(p_quotas, p_token_id, p_user_id, p_root_id, month);
  if judged.exceeded is null and judged.nearest < 3000 then
    perform pg_advisory_xact_lock(hashtext('probeyard.quota'), hashint8(p_root_id));
    select * into judged from quota_exceeded(p_quotas, p_token_id, p_user_id, p_root_id, month);
  end if;
  exceeded := judged.exceeded;
  if exceeded is null then return; end if;
  outcome := 'over-quota';
  delete from requests where id = p_id and submitted_at = p_submitted_at;
  if p_key is not null then
    delete from idempotency where token_id = p_token_id and key = p_key and request_id = p_id;
  end if;
end $$;

-- Writes the one end of a request, with its envelope, its usage and its webhook, and as a cached result if the identity
-- of its file is known. A second end changes nothing, and returns what the first one recorded. Without a verdict the
-- outcome of the policy that the request names is unknown: it is never taken for a pass.
create function close_request(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text,
  p_attempt integer, p_started_at timestamptz, p_tools jsonb, p_ffprobe_state text, p_mediainfo_state text,
  p_report_state text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid,
  p_inflated_bytes integer, p_policy_outcome text, p_identity text default null,
  p_decoded_seconds integer default null,
  out closed boolean, out waiter text, out queue_time_ms integer)
language plpgsql as $$
declare
  r record;
  ended timestamptz := clock_timestamp();
  queued integer := greatest(0, least(2147483647,
    extract(epoch from coalesce(p_started_at, ended) - p_submitted_at) * 1000));
  bucket integer := queue_bucket(queued);
  histogram integer[];
begin
  update requests q set state = p_state, status = p_status, reason = p_reason, error = p_error, attempt = p_attempt,
      started_at = p_started_at, ended_at = ended, queue_time_ms = queued, tools = p_tools,
      ffprobe_state = p_ffprobe_state, mediainfo_state = p_mediainfo_state, report_state = p_report_state,
      usage_ms = p_usage_ms, io_bytes = p_io_bytes, has_body = p_body is not null, closer = p_closer,
      inflated_bytes = p_inflated_bytes, decoded_seconds = p_decoded_seconds,
      policy_name = q.request->'policy'->>'name', policy_revision = (q.request->'policy'->>'revision')::integer,
      policy_outcome = case when jsonb_typeof(q.request->'policy') = 'object'
        then coalesce(p_policy_outcome, 'unknown') end
    where q.id = p_id and q.submitted_at = p_submitted_at and q.state = 'open'
    returning q.waiter, q.token_id, q.user_id, q.kind, q.scheme, q.webhook_url, q.request->>'cacheKey' cache_key into r;
  closed := found;
  if not closed then
    select q.waiter, coalesce(q.queue_time_ms, 0), coalesce(q.closer = p_closer, false)
      into waiter, queue_time_ms, closed
      from requests q where q.id = p_id and q.submitted_at = p_submitted_at;
    queue_time_ms := coalesce(queue_time_ms, 0);
    closed := coalesce(closed, false);
    return;
  end if;
  waiter := r.waiter;
  queue_time_ms := queued;
  if p_body is not null then
    insert into envelopes (id, submitted_at, body) values (p_id, p_submitted_at, p_body);
  end if;
  if r.webhook_url is not null then
    insert into webhook_outbox (request_id, submitted_at, token_id, user_id, url)
      values (p_id, p_submitted_at, r.token_id, r.user_id, r.webhook_url) on conflict do nothing;
  end if;
  if p_identity is not null and r.cache_key is not null and p_state = 'success' and p_body is not null then
    insert into cached_results as c (key, identity, request_id, submitted_at, read_at)
      values (decode(r.cache_key, 'hex'), p_identity, p_id, p_submitted_at, coalesce(p_started_at, p_submitted_at))
      on conflict (key) do update set identity = excluded.identity, request_id = excluded.request_id,
        submitted_at = excluded.submitted_at, read_at = excluded.read_at
        where c.read_at <= excluded.read_at;
  end if;
  -- Last, because this row is the one that other closers may wait for.
  histogram := array_fill(0, array[67]);
  histogram[bucket] := 1;
  insert into usage_minute as u (token_id, minute, kind, scheme, slot, user_id, requests, success, with_errors, errors,
      timed_out, processing_ms, io_bytes, queue_ms, queue_max_ms, queue_histogram, decoded_seconds)
    values (r.token_id, date_trunc('minute', p_submitted_at), r.kind, r.scheme, pg_backend_pid() % 8, r.user_id, 1,
      (p_state = 'success')::integer, (p_state = 'with-errors')::integer, (p_state = 'error')::integer,
      (p_reason = 'QueueTimeout')::integer, p_usage_ms, p_io_bytes, queued, queued, histogram,
      p_decoded_seconds)
    on conflict (token_id, minute, kind, scheme, slot) do update set
      requests = u.requests + 1, success = u.success + excluded.success,
      with_errors = u.with_errors + excluded.with_errors, errors = u.errors + excluded.errors,
      timed_out = u.timed_out + excluded.timed_out, processing_ms = u.processing_ms + excluded.processing_ms,
      io_bytes = u.io_bytes + excluded.io_bytes, queue_ms = u.queue_ms + excluded.queue_ms,
      queue_max_ms = greatest(u.queue_max_ms, excluded.queue_max_ms),
      queue_histogram[bucket] = u.queue_histogram[bucket] + 1,
      decoded_seconds = nullif(coalesce(u.decoded_seconds, 0) + coalesce(excluded.decoded_seconds, 0), 0);
end $$;

-- Results that answer later requests, too. A request that was answered so has no job and no envelope of its own: its
-- kind is `cached`, and its result is that of another request, for as long as that one has it.

-- The newest result of each key: a hash of the account, the source, the tools and their options. That the key was asked
-- for stands in `request` of its request, in hexadecimal.
create table cached_results (
  key bytea primary key,
  -- What tells the file from every other one (src/source/http/identity.ts).
  identity text not null,
  request_id uuid not null,
  submitted_at timestamptz not null,
  -- When the run began: the file was not read before.
  read_at timestamptz not null
);
create index cached_results_read on cached_results (read_at);

-- The result of a key for this account, if it still exists.
create function cached_result(p_key bytea, p_root_id bigint, p_max_age_s integer,
  out identity text, out request_id uuid, out submitted_at timestamptz, out read_at timestamptz)
returns setof record language sql stable as $$
  select c.identity, c.request_id, c.submitted_at, c.read_at
    from cached_results c
    join requests q on q.id = c.request_id and q.submitted_at = c.submitted_at
    join users u on u.id = q.user_id and p_root_id in (u.id, u.root_id)
    where c.key = p_key and c.read_at > now() - make_interval(secs => p_max_age_s)
      and q.state = 'success' and q.erased_at is null
      and exists (select from envelopes e where e.id = c.request_id and e.submitted_at = c.submitted_at)
$$;

-- Ends an open request with the result of another one, of the same file. `none`: there is no such result (any more),
-- and the request is still open; `ended`: it has ended otherwise.
create function close_cached(
  p_id uuid, p_submitted_at timestamptz, p_key bytea, p_root_id bigint, p_max_age_s integer, p_identity text,
  p_io_bytes bigint, p_closer uuid)
returns text language plpgsql as $$
declare
  found_one record;
  r record;
begin
  select c.request_id, c.submitted_at, c.read_at into found_one
    from cached_result(p_key, p_root_id, p_max_age_s) c where c.identity = p_identity;
  if not found then return 'none'; end if;
  update requests q set kind = 'cached', cached_from = found_one.request_id,
      cache_named = exists (select from requests o join users u on u.id = o.user_id
        where o.id = found_one.request_id and o.submitted_at = found_one.submitted_at
          and q.user_id in (u.id, u.root_id)),
      cache_age_s = greatest(0, extract(epoch from now() - found_one.read_at))
    where q.id = p_id and q.submitted_at = p_submitted_at and q.state = 'open';
  if not found then
    -- The answer to this call may have been lost.
    return case when exists (select from requests q
      where q.id = p_id and q.submitted_at = p_submitted_at and q.closer = p_closer) then 'cached' else 'ended' end;
  end if;
  select q.* into r from requests q where q.id = found_one.request_id and q.submitted_at = found_one.submitted_at;
  perform close_request(p_id, p_submitted_at, r.state, r.status, r.reason, null, 0, null, r.tools,
    r.ffprobe_state, r.mediainfo_state, r.report_state, 0, p_io_bytes, null, p_closer, r.inflated_bytes,
    r.policy_outcome);
  update requests q set has_body = true where q.id = p_id and q.submitted_at = p_submitted_at;
  return 'cached';
end $$;
