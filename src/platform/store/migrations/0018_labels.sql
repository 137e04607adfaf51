-- Labels of accounts, such as a cost centre, and whom the figures of erased users are charged to: a month that was
-- charged stays as it was.

-- Of root users only.
alter table users add column labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object');

-- Figures of user -1, which are those of erased users, have the id of a share as their token. 0: an account without
-- labels.
create table erased_shares (
  id bigint generated always as identity primary key,
  -- The account of erased sub-users. Null: it is erased, too, and only its labels are left.
  account_id bigint,
  labels jsonb not null default '{}'
);
alter table erasures add column share_id bigint not null default 0;

-- The share of what is erased with this user, who still exists.
create function share_of_erased(p_user bigint) returns bigint language plpgsql as $$
declare
  root record;
  share bigint;
begin
  select a.id, a.labels into root from users u join users a on a.id = coalesce(u.root_id, u.id) where u.id = p_user;
  if not found then return 0; end if;
  if root.id <> p_user then
    select id into share from erased_shares where account_id = root.id limit 1;
    if share is null then
      insert into erased_shares (account_id) values (root.id) returning id into share;
    end if;
    return share;
  end if;
  update erased_shares set account_id = null, labels = root.labels where account_id = p_user;
  if root.labels = '{}' then return 0; end if;
  select id into share from erased_shares where account_id is null and labels = root.labels limit 1;
  if share is null then
    insert into erased_shares (labels) values (root.labels) returning id into share;
  end if;
  return share;
end $$;

-- Deletes the user, all users below and their tokens at once; erase_step erases their data in steps. Returns the users.
create or replace function erase_user(p_user bigint) returns bigint[] language plpgsql as $$
declare
  gone bigint[];
  share bigint;
begin
  with recursive below (id) as (
    select p_user union select u.id from users u join below b on u.parent_id = b.id or u.root_id = b.id)
  select array_agg(id) into gone from below where id in (select id from users);
  if gone is null then return '{}'; end if;
  share := share_of_erased(p_user);
  insert into erasures (user_id, token_ids, share_id)
    select g, coalesce((select array_agg(t.id) from tokens t where t.user_id = g), '{}'), share from unnest(gone) g
    on conflict (user_id) do nothing;
  delete from tokens where user_id = any(gone);
  delete from users where id = any(gone);
  return gone;
end $$;

-- Returns the number of deleted rows; 0: nothing is left. Figures of everybody lose the user's (the longest queue time
-- stays an upper bound). Those of days in finished months go to user -1 and the share of the erasure: they keep what
-- has been accounted for.
create or replace function erase_step(p_user bigint, p_most integer default 1000)
returns integer language plpgsql as $$
declare
  counters constant text[] := array['file_success', 'file_with_errors', 'file_error',
    'msv_success', 'msv_with_errors', 'msv_error', 'c2pa_success', 'c2pa_with_errors', 'c2pa_error',
    'compare_success', 'compare_with_errors', 'compare_error',
    'hls', 'dash', 'http', 'https', 's3', 'ftp', 'rtmp', 'rtsp', 'srt',
    'timed_out', 'processing_ms', 'io_bytes', 'queue_ms'];
  names constant text := array_to_string(counters, ', ');
  ids uuid[];
  times timestamptz[];
  grain text;
  gone integer;
  sums text;
  kept text;
  share bigint := coalesce((select share_id from erasures where user_id = p_user), 0);
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.erase')) then return 0; end if;
  select array_agg(r.id), array_agg(r.submitted_at) into ids, times
    from (select r.id, r.submitted_at from requests r where r.user_id = p_user limit p_most) r;
  if ids is not null then
    delete from envelopes e using unnest(ids, times) x (id, submitted_at)
      where e.id = x.id and e.submitted_at = x.submitted_at;
    delete from requests r using unnest(ids, times) x (id, submitted_at)
      where r.id = x.id and r.submitted_at = x.submitted_at;
    return cardinality(ids);
  end if;
  -- Nothing may fold what is being taken away.
  perform pg_advisory_xact_lock(hashtext('probeyard.fold'));
  delete from usage_minute where user_id = p_user;
  get diagnostics gone = row_count;
  if gone > 0 then return gone; end if;
  select string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) - coalesce(o.%1$I, 0), 0)', c), ', ') into sums
    from unnest(counters) c;
  select format($q$, kept as (
      insert into rollup_day as r (user_id, at, token_id, requests, %1$s, queue_max_ms, queue_histogram, other_kinds)
        select -1, o.at, $3, o.requests, %1$s, o.queue_max_ms, o.queue_histogram, o.other_kinds from o
          where o.at < date_trunc('month', now(), 'UTC')
      on conflict (user_id, at, token_id) do update set requests = r.requests + excluded.requests, %2$s,
        queue_max_ms = greatest(r.queue_max_ms, excluded.queue_max_ms),
        queue_histogram = add_histogram(r.queue_histogram, excluded.queue_histogram),
        other_kinds = add_counts(r.other_kinds, excluded.other_kinds, 1))$q$, names,
      string_agg(format('%1$I = nullif(coalesce(r.%1$I, 0) + coalesce(excluded.%1$I, 0), 0)', c), ', '))
    into kept from unnest(counters) c;
  foreach grain in array array['minute', 'hour', 'day'] loop
    -- One of the user's rows per moment and turn: an UPDATE changes a row of everybody's once.
    execute format($q$
      with o as (delete from rollup_%1$s where (user_id, at, token_id) in (
          select distinct on (at) user_id, at, token_id from (
            select user_id, at, token_id from rollup_%1$s where user_id = $1 order by at limit $2) s order by at)
        returning *)%3$s
      update rollup_%1$s r set requests = r.requests - o.requests, %2$s,
          queue_histogram = subtract_histogram(r.queue_histogram, o.queue_histogram),
          other_kinds = add_counts(r.other_kinds, o.other_kinds, -1)
        from o where r.user_id = 0 and r.at = o.at and r.token_id = 0
    $q$, grain, sums, case grain when 'day' then kept else '' end) using p_user, p_most, share;
    get diagnostics gone = row_count;
    if gone > 0 then return gone; end if;
  end loop;
  delete from webhook_outbox where user_id = p_user;
  delete from idempotency where token_id = any((select token_ids from erasures where user_id = p_user)::bigint[]);
  delete from rate_limits where (scope = 'user' and id = p_user)
    or (scope = 'token' and id = any((select token_ids from erasures where user_id = p_user)::bigint[]));
  delete from erasures where user_id = p_user and asked_at < now() - interval '1 day';
  return 0;
end $$;

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['erase_user(bigint)', 'erase_step(bigint, integer)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
  end loop;
  -- Only erase_user, which runs as the owner, calls it.
  revoke all on function share_of_erased(bigint) from public;
end $$;
