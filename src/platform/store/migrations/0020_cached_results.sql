-- Results that answer later requests, too. A request that was answered so has no job and no envelope of its own: its
-- kind is `cached`, and its result is that of another request, for as long as that one has it.

alter table requests
  add column cached_from uuid,
  -- Whether the user of this request may read that one, and be told its id.
  add column cache_named boolean,
  -- How long before this request the file was read, in seconds.
  add column cache_age_s integer;

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

-- Ends a request as close_request does, with the identity of the file that was read.
create function close_identified(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text,
  p_attempt integer, p_started_at timestamptz, p_tools jsonb, p_ffprobe_state text, p_mediainfo_state text,
  p_report_state text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid,
  p_inflated_bytes integer, p_policy_outcome text, p_identity text,
  out closed boolean, out waiter text, out queue_time_ms integer)
language plpgsql as $$
begin
  select c.closed, c.waiter, c.queue_time_ms into closed, waiter, queue_time_ms
    from close_request(p_id, p_submitted_at, p_state, p_status, p_reason, p_error, p_attempt, p_started_at, p_tools,
      p_ffprobe_state, p_mediainfo_state, p_report_state, p_usage_ms, p_io_bytes, p_body, p_closer, p_inflated_bytes,
      p_policy_outcome) c;
  if not closed or p_state <> 'success' or p_body is null then return; end if;
  insert into cached_results as r (key, identity, request_id, submitted_at, read_at)
    select decode(q.request->>'cacheKey', 'hex'), p_identity, p_id, p_submitted_at,
        coalesce(p_started_at, p_submitted_at)
      from requests q where q.id = p_id and q.submitted_at = p_submitted_at and q.request ? 'cacheKey'
    on conflict (key) do update set identity = excluded.identity, request_id = excluded.request_id,
      submitted_at = excluded.submitted_at, read_at = excluded.read_at
      where r.read_at <= excluded.read_at;
end $$;

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
