-- Monthly quotas (UTC): what a token, its user and the user's account have used since the month began, from the rollups, what is not
-- folded yet, and what runs now. A request without a quota pays nothing for it: open_request is called as before.

create function month_usage(p_users bigint[], p_token bigint, p_month timestamptz, out requests bigint, out processing_ms bigint, out io_bytes bigint) language plpgsql stable as $$
begin
  select coalesce(sum(u.n), 0), coalesce(sum(u.ms), 0), coalesce(sum(u.bytes), 0) into requests, processing_ms, io_bytes from (
    select r.requests n, r.processing_ms ms, r.io_bytes bytes from rollup_day r
      where r.user_id = any(p_users) and (p_token is null or r.token_id = p_token) and r.at >= p_month and r.at < p_month + interval '1 month'
    union all
    select m.requests, m.processing_ms, m.io_bytes from usage_minute m
      where m.user_id = any(p_users) and (p_token is null or m.token_id = p_token) and m.minute >= p_month and m.minute < p_month + interval '1 month') u;
  requests := requests + (select count(*) from requests r
    where r.state = 'open' and r.user_id = any(p_users) and (p_token is null or r.token_id = p_token) and r.submitted_at >= p_month and r.submitted_at < p_month + interval '1 month');
end $$;

-- The first of these quotas that is used up, this request (whose row is there already) included; null: none.
-- p_quotas: [{scope: token | user | account, limits: {request-count, processing-time, data-processed}}].
create function quota_exceeded(p_quotas jsonb, p_token bigint, p_user bigint, p_root bigint, p_month timestamptz, out exceeded text, out nearest bigint) language plpgsql stable as $$
declare
  quota jsonb;
  used record;
  users bigint[];
begin
  for quota in select * from jsonb_array_elements(p_quotas) loop
    users := case when quota->>'scope' = 'account' then (select array_agg(id) from users where id = p_root or root_id = p_root) else array[p_user] end;
    select * into used from month_usage(users, case when quota->>'scope' = 'token' then p_token end, p_month);
    exceeded := case
      when used.requests > (quota->'limits'->>'request-count')::numeric then 'request-count'
      when used.processing_ms >= (quota->'limits'->>'processing-time')::numeric then 'processing-time'
      when used.io_bytes >= (quota->'limits'->>'data-processed')::numeric then 'data-processed'
    end;
    if exceeded is not null then return; end if;
    nearest := least(nearest, (quota->'limits'->>'request-count')::numeric - used.requests);
  end loop;
end $$;

-- As open_request, within quotas. Far from the limit nobody waits for anybody; near it the requests of one account are counted one after
-- the other, so that of ten at once on ten replicas exactly those get through that still fit.
create function open_request_within(
  p_quotas jsonb, p_root bigint,
  p_id uuid, p_submitted_at timestamptz, p_token bigint, p_user bigint, p_kind text, p_display text, p_scheme text,
  p_request jsonb, p_tools jsonb, p_queue_timeout integer, p_timeout integer, p_waiter text, p_webhook text,
  p_key text, p_body_sha256 bytea, p_per_minute integer,
  out outcome text, out first_id uuid, out remaining integer, out reset_ms integer, out retry_after_ms integer, out exceeded text)
language plpgsql as $$
declare
  known boolean := exists (select from requests where id = p_id and submitted_at = p_submitted_at);
  month timestamptz := date_trunc('month', p_submitted_at, 'UTC');
  opened record;
  judged record;
begin
  select * into opened from open_request(p_id, p_submitted_at, p_token, p_user, p_kind, p_display, p_scheme, p_request, p_tools, p_queue_timeout, p_timeout, p_waiter, p_webhook, p_key, p_body_sha256, p_per_minute);
  outcome := opened.outcome; first_id := opened.first_id; remaining := opened.remaining; reset_ms := opened.reset_ms; retry_after_ms := opened.retry_after_ms;
  -- A call that is sent again after its answer was lost was judged the first time.
  if known or outcome <> 'opened' then return; end if;
  select * into judged from quota_exceeded(p_quotas, p_token, p_user, p_root, month);
  if judged.exceeded is null and judged.nearest < 1000 then
    perform pg_advisory_xact_lock(hashtext('probeyard.quota'), hashint8(p_root));
    select * into judged from quota_exceeded(p_quotas, p_token, p_user, p_root, month);
  end if;
  exceeded := judged.exceeded;
  if exceeded is null then return; end if;
  outcome := 'over-quota';
  delete from requests where id = p_id and submitted_at = p_submitted_at;
  if p_key is not null then delete from idempotency where token_id = p_token and key = p_key and request_id = p_id; end if;
end $$;
