-- Seconds of media that content checks decoded: of requests, in the usage and as a monthly quota. Null is zero. The
-- rollups keep them in `other_kinds`, under the name `decoded_seconds`: it is added up and taken away by name, and the
-- keys of two rollups have as many columns as an index may have.

alter table requests add column decoded_seconds integer;
alter table usage_minute add column decoded_seconds bigint;

-- Ends a request as close_identified does, or as close_request without an identity, and counts what was decoded.
create function close_decoded(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text,
  p_attempt integer, p_started_at timestamptz, p_tools jsonb, p_ffprobe_state text, p_mediainfo_state text,
  p_report_state text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid,
  p_inflated_bytes integer, p_policy_outcome text, p_identity text, p_decoded_seconds integer,
  out closed boolean, out waiter text, out queue_time_ms integer)
language plpgsql as $$
declare
  r record;
begin
  if p_identity is null then
    select c.closed, c.waiter, c.queue_time_ms into closed, waiter, queue_time_ms
      from close_request(p_id, p_submitted_at, p_state, p_status, p_reason, p_error, p_attempt, p_started_at, p_tools,
        p_ffprobe_state, p_mediainfo_state, p_report_state, p_usage_ms, p_io_bytes, p_body, p_closer, p_inflated_bytes,
        p_policy_outcome) c;
  else
    select c.closed, c.waiter, c.queue_time_ms into closed, waiter, queue_time_ms
      from close_identified(p_id, p_submitted_at, p_state, p_status, p_reason, p_error, p_attempt, p_started_at,
        p_tools, p_ffprobe_state, p_mediainfo_state, p_report_state, p_usage_ms, p_io_bytes, p_body, p_closer,
        p_inflated_bytes, p_policy_outcome, p_identity) c;
  end if;
  -- A call that is sent again after its answer was lost has counted the first time.
  update requests q set decoded_seconds = p_decoded_seconds
    where q.id = p_id and q.submitted_at = p_submitted_at and q.closer = p_closer and q.decoded_seconds is null
    returning q.token_id, q.kind, q.scheme into r;
  if not found then return; end if;
  -- In the row that close_request has just counted into, and that this transaction holds.
  update usage_minute u set decoded_seconds = coalesce(u.decoded_seconds, 0) + p_decoded_seconds
    where u.token_id = r.token_id and u.minute = date_trunc('minute', p_submitted_at) and u.kind = r.kind
      and u.scheme = r.scheme and u.slot = pg_backend_pid() % 8;
end $$;

-- Adds what was decoded to the rows that add_usage has made or changed.
create function add_decoded(rows usage_minute[]) returns void language plpgsql as $$
declare
  grain text;
begin
  foreach grain in array array['minute', 'hour', 'day'] loop
    execute format($q$
      with sums as (
        select o.user_id, date_trunc(%1$L, u.minute, 'UTC') at, o.token_id, sum(u.decoded_seconds)::bigint n
        from unnest($1) u cross join lateral (values (u.user_id, u.token_id), (0, 0)) o (user_id, token_id)
        where u.decoded_seconds > 0 group by 1, 2, 3)
      update rollup_%1$s r
        set other_kinds = add_counts(r.other_kinds, jsonb_build_object('decoded_seconds', s.n), 1)
        from sums s where r.user_id = s.user_id and r.at = s.at and r.token_id = s.token_id
    $q$, grain) using rows;
  end loop;
end $$;

-- As in 0002_usage.sql, and what was decoded.
create or replace function fold_usage(p_rest interval default '2 minutes', p_most integer default 2000)
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
  if exists (select from unnest(rows) u where u.decoded_seconds > 0) then perform add_decoded(rows); end if;
  return cardinality(rows);
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

-- As in 0002_usage.sql, and a quota of what is decoded.
create or replace function quota_exceeded(
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
