-- Policies: own ones of an account, and the shared ones (account 0), which the leader copies from ProbePolicy objects.

create table policy_accounts (
  -- A root user; 0: the shared policies. The row is locked by whoever changes the policies of the account.
  account_id bigint primary key,
  user_id bigint generated always as (nullif(account_id, 0)) stored references users on delete cascade,
  -- A new name begins here, so that a name that is deleted and comes again repeats no revision.
  first_revision integer not null default 1
);

-- The canonical JSON of policies, saved and inline ones, by its SHA-256. Never changed.
create table policy_documents (
  account_id bigint not null references policy_accounts on delete cascade,
  digest bytea not null check (length(digest) = 32),
  document text not null,
  bytes integer generated always as (octet_length(document)) stored,
  used_at timestamptz not null default now(),
  primary key (account_id, digest)
);

create table policies (
  account_id bigint not null references policy_accounts on delete cascade,
  name text not null,
  revision integer not null check (revision > 0),
  digest bytea not null,
  -- That of the document, for lists.
  description text,
  -- Who saved it; null: of a shared one.
  user_id bigint,
  created_at timestamptz not null default now(),
  primary key (account_id, name, revision),
  foreign key (account_id, digest) references policy_documents
);
create index policies_document on policies (account_id, digest);

-- Keeps a document for an hour at least after its last use; false: the account has as many as it may. What no policy names
-- and nobody has used for an hour makes room.
create function keep_policy_document(p_account bigint, p_digest bytea, p_document text, p_most integer, p_most_bytes bigint)
returns boolean language plpgsql as $$
declare
  held record;
begin
  update policy_documents d set used_at = now()
    where d.account_id = p_account and d.digest = p_digest and d.used_at < now() - interval '10 minutes';
  if found or exists (select from policy_documents d where d.account_id = p_account and d.digest = p_digest) then return true; end if;
  insert into policy_accounts (account_id) values (p_account) on conflict do nothing;
  perform from policy_accounts a where a.account_id = p_account for update;
  select count(*) n, coalesce(sum(d.bytes), 0) + octet_length(p_document) bytes into held from policy_documents d where d.account_id = p_account;
  if held.n >= p_most or held.bytes > p_most_bytes then
    perform forget_policy_documents(p_account);
    select count(*) n, coalesce(sum(d.bytes), 0) + octet_length(p_document) bytes into held from policy_documents d where d.account_id = p_account;
    if held.n >= p_most or held.bytes > p_most_bytes then return false; end if;
  end if;
  insert into policy_documents (account_id, digest, document) values (p_account, p_digest, p_document) on conflict do nothing;
  return true;
end $$;

-- Documents that no policy names any more, an hour after their last use: no job lives so long. Null: of every account.
create function forget_policy_documents(p_account bigint) returns integer language plpgsql as $$
declare
  gone integer;
begin
  delete from policy_documents d where (p_account is null or d.account_id = p_account) and d.used_at < now() - interval '1 hour'
    and not exists (select from policies p where p.account_id = d.account_id and p.digest = d.digest);
  get diagnostics gone = row_count;
  return gone;
end $$;

-- Saves a policy. The content of the latest revision again is that revision; of revisions the latest p_most_revisions are kept.
create function put_policy(p_account bigint, p_name text, p_digest bytea, p_document text, p_description text, p_user bigint,
  p_most_policies integer, p_most_revisions integer, p_most_documents integer, p_most_bytes bigint,
  out outcome text, out revision integer) language plpgsql as $$
declare
  latest record;
  first integer;
begin
  insert into policy_accounts (account_id) values (p_account) on conflict do nothing;
  select a.first_revision into first from policy_accounts a where a.account_id = p_account for update;
  select p.revision, p.digest into latest from policies p where p.account_id = p_account and p.name = p_name order by p.revision desc limit 1;
  if found and latest.digest = p_digest then
    outcome := 'unchanged'; revision := latest.revision;
    return;
  end if;
  if latest.revision is null and p_most_policies <= (select count(distinct p.name) from policies p where p.account_id = p_account) then
    outcome := 'too-many';
    return;
  end if;
  if not keep_policy_document(p_account, p_digest, p_document, p_most_documents, p_most_bytes) then
    outcome := 'no-room';
    return;
  end if;
  outcome := 'saved';
  revision := coalesce(latest.revision + 1, first);
  insert into policies (account_id, name, revision, digest, description, user_id)
    values (p_account, p_name, revision, p_digest, p_description, p_user);
  perform release_policy(p_account, p_name, revision - p_most_revisions);
end $$;

-- Revisions up to p_until go; their documents stay for the jobs that run by them.
create function release_policy(p_account bigint, p_name text, p_until integer) returns integer language plpgsql as $$
declare
  gone integer;
begin
  with gone as (delete from policies p where p.account_id = p_account and p.name = p_name and p.revision <= p_until returning p.digest)
  update policy_documents d set used_at = now() from gone where d.account_id = p_account and d.digest = gone.digest;
  get diagnostics gone = row_count;
  return gone;
end $$;

-- False: there is no such policy.
create function delete_policy(p_account bigint, p_name text) returns boolean language plpgsql as $$
declare
  latest integer;
begin
  perform from policy_accounts a where a.account_id = p_account for update;
  select max(p.revision) into latest from policies p where p.account_id = p_account and p.name = p_name;
  if latest is null then return false; end if;
  perform release_policy(p_account, p_name, latest);
  update policy_accounts a set first_revision = greatest(a.first_revision, latest + 1) where a.account_id = p_account;
  return true;
end $$;

-- What a request was judged by, and what came of it. Null: none was asked for. The revision and outcome of an inline policy have no name.
alter table requests add column policy_name text;
alter table requests add column policy_revision integer;
alter table requests add column policy_outcome text;

-- As in 0040, with the outcome of the policy that the request names. An end without a verdict (a recorder of the version before, a
-- request that ended without a result) is unknown: it is never taken for a pass.
create function close_request(
  p_id uuid, p_submitted_at timestamptz, p_state text, p_status integer, p_reason text, p_error text, p_attempt integer, p_started_at timestamptz,
  p_tools jsonb, p_ffprobe text, p_mediainfo text, p_report text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid, p_inflated_bytes integer, p_policy_outcome text,
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
      usage_ms = p_usage_ms, io_bytes = p_io_bytes, has_body = p_body is not null, closer = p_closer, inflated_bytes = p_inflated_bytes,
      policy_name = q.request->'policy'->>'name', policy_revision = (q.request->'policy'->>'revision')::integer,
      policy_outcome = case when jsonb_typeof(q.request->'policy') = 'object' then coalesce(p_policy_outcome, 'unknown') end
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
  p_tools jsonb, p_ffprobe text, p_mediainfo text, p_report text, p_usage_ms integer, p_io_bytes bigint, p_body bytea, p_closer uuid, p_inflated_bytes integer,
  out closed boolean, out waiter text, out queue_time_ms integer)
language sql as $$
  select * from close_request(p_id, p_submitted_at, p_state, p_status, p_reason, p_error, p_attempt, p_started_at,
    p_tools, p_ffprobe, p_mediainfo, p_report, p_usage_ms, p_io_bytes, p_body, p_closer, p_inflated_bytes, null)
$$;
