-- Accounts: users, their API tokens and sessions, what limits their calls, and the audit log.

create table settings (
  key text primary key,
  value jsonb not null
);
insert into settings (key, value) values ('install.id', to_jsonb(gen_random_uuid()::text));

create table users (
  id bigint generated always as identity primary key,
  email text not null,
  additional_emails text[] not null default '{}',
  password_hash text,
  first_name text not null default '',
  last_name text not null default '',
  role text not null default 'user' check (role in ('root', 'admin', 'user', 'sub')),
  status text not null default 'pending' check (status in ('anonymous', 'pending', 'active', 'suspended')),
  -- Suspended because no group of theirs gives access any more, or because they have not signed in for long: the next
  -- sign-in that is let in makes them active again. What an administrator decides about the status ends that.
  lapsed boolean not null default false,
  parent_id bigint references users,
  -- All users above, the topmost first. Visible data and suspension are decided by it alone.
  parent_ids bigint[] not null default '{}',
  -- The account that everything counts for. Null: the user's own.
  root_id bigint references users,
  permissions text[] not null default '{}',
  restrictions text[] not null default '{}',
  -- Null: the installation's default; of a sub-user, what its root user has.
  requests_per_minute integer check (requests_per_minute > 0),
  concurrency integer check (concurrency > 0),
  -- Requests at once of the whole account, read from the root user only. Null: the installation's default. 0: none.
  account_concurrency integer check (account_concurrency >= 0),
  queue_timeout_ms integer check (queue_timeout_ms > 0),
  file_bytes bigint check (file_bytes > 0),
  monthly_quota jsonb,
  -- The age of a cached result that may answer requests which say nothing of it. 0: none; null: as the account above.
  cache_max_age_s integer check (cache_max_age_s between 0 and 2592000),
  -- Such as a cost centre. Of root users only.
  labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));
create index users_root on users (root_id);
create index users_parents on users using gin (parent_ids);

create function place_user() returns trigger language plpgsql as $$
begin
  new.parent_ids := '{}';
  if new.parent_id is not null then
    select p.parent_ids || p.id into new.parent_ids from users p where p.id = new.parent_id;
    new.root_id := new.parent_ids[1];
  end if;
  return new;
end $$;
create trigger users_place before insert or update of parent_id on users for each row execute function place_user();

create function forget_lapse() returns trigger language plpgsql as $$
begin
  new.lapsed := false;
  return new;
end $$;
create trigger users_forget_lapse before update of status on users for each row
  when (old.lapsed and new.lapsed) execute function forget_lapse();

create table tokens (
  id bigint generated always as identity primary key,
  user_id bigint not null references users on delete cascade,
  name text not null default '',
  -- Null: a token that cannot be sent (that of jobs made with kubectl).
  sha256 bytea check (length(sha256) = 32),
  sealed bytea,
  -- Sealed with the installation's key.
  webhook_secret bytea,
  is_default boolean not null default false,
  -- What made it, and ends it. Both null: a person who signed in, or an administrator. An ended session is forgotten
  -- after a month; its tokens were revoked when it ended.
  made_by bigint references tokens on delete cascade,
  made_in uuid,
  -- Null: those of the user.
  permissions text[],
  -- Null: inherited. A token narrows what its user has and never widens it.
  requests_per_minute integer check (requests_per_minute > 0),
  concurrency integer check (concurrency > 0),
  queue_timeout_ms integer check (queue_timeout_ms > 0),
  file_bytes bigint check (file_bytes > 0),
  monthly_quota jsonb,
  -- The age of a cached result that may answer requests which say nothing of it. 0: none; null: as its user.
  cache_max_age_s integer check (cache_max_age_s between 0 and 2592000),
  allow jsonb not null default '[]' check (jsonb_typeof(allow) = 'array'),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index tokens_sha256 on tokens (sha256);
create unique index tokens_default on tokens (is_default) where is_default;
create index tokens_user on tokens (user_id);
create index tokens_made_by on tokens (made_by) where made_by is not null;
create index tokens_made_in on tokens (made_in) where made_in is not null;

create table sessions (
  id uuid primary key,
  user_id bigint not null references users on delete cascade,
  -- Of a JWT that was requested with an API token: it has at most the token's permissions, and ends with it.
  token_id bigint references tokens on delete cascade,
  -- The session that requested this JWT. Null: a sign-in with the password, or a JWT of an API token.
  parent_id uuid references sessions on delete cascade,
  -- The number of JWTs between it and the first one. Bounded, because ending a chain of 5,000 exceeded the statement
  -- timeout.
  depth smallint not null default 0 check (depth between 0 and 10),
  permissions text[],
  remote_ip text not null default '',
  user_agent text not null default '',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);
create index sessions_user on sessions (user_id, created_at desc);
create index sessions_expired on sessions (expires_at);
create index sessions_parent on sessions (parent_id) where parent_id is not null;
create index sessions_token on sessions (token_id) where token_id is not null;
alter table tokens add foreign key (made_in) references sessions on delete set null;

-- Links to the report of a request, each readable without an account for as long as its maker may read the request.
-- Made by a token, or in a session that is no sign-in, it ends with that.
create table report_links (
  id uuid primary key,
  -- The address holds the secret; this is all that is kept of it.
  sha256 bytea not null check (length(sha256) = 32),
  request_id uuid not null,
  user_id bigint not null references users on delete cascade,
  token_id bigint references tokens on delete cascade,
  session_id uuid references sessions on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create unique index report_links_sha256 on report_links (sha256);
create index report_links_user on report_links (user_id);
create index report_links_expired on report_links (expires_at);
create index report_links_token on report_links (token_id) where token_id is not null;
create index report_links_session on report_links (session_id) where session_id is not null;

-- A credential ends with the one that made it: a JWT with the session or token that requested it, an API token with the
-- token or JWT that made it. These are triggers, so that every reader of tokens and sessions sees them ended. They work
-- by statement and set, because a user may have very many sessions; a chain of live tokens has 100 links.

create function end_made_in_sessions() returns trigger language plpgsql as $$
declare
  -- Those that had ended before are few and have nothing left: to tell them apart took a join, and its cached plan 10 s
  -- for 10,000 rows.
  ended uuid[] := array(select id from changed where ended_at is not null);
begin
  if cardinality(ended) = 0 then return null; end if;
  -- A session that had ended before ended its own: the walk stops there, and the trigger's own call finds nothing left.
  with recursive below (id) as (
    select id from sessions where parent_id = any(ended) and ended_at is null
    union select s.id from sessions s join below b on s.parent_id = b.id where s.ended_at is null)
  update sessions s set ended_at = now() from below b where s.id = b.id and s.ended_at is null;
  update tokens set revoked_at = now(), updated_at = now(), sealed = null
    where made_in = any(ended) and revoked_at is null;
  delete from report_links where session_id = any(ended);
  return null;
end $$;
create trigger sessions_end_made after update on sessions referencing new table as changed
  for each statement execute function end_made_in_sessions();

create function end_made_by_tokens() returns trigger language plpgsql as $$
declare
  -- Revoked or rotated.
  ended bigint[] := array(select n.id from changed n join before o on o.id = n.id
    where (n.revoked_at is not null and o.revoked_at is null)
      or (o.sha256 is not null and n.sha256 is distinct from o.sha256));
begin
  if cardinality(ended) > 0 then
    with recursive below (id) as (
      select id from tokens where made_by = any(ended) and revoked_at is null
      union select t.id from tokens t join below b on t.made_by = b.id where t.revoked_at is null)
    update tokens t set revoked_at = now(), updated_at = now(), sealed = null
      from below b where t.id = b.id and t.revoked_at is null;
    update sessions set ended_at = now() where token_id = any(ended) and ended_at is null;
    delete from report_links where token_id = any(ended);
  end if;
  if exists (select from changed n join before o on o.id = n.id
      where n.expires_at is not null and n.expires_at is distinct from o.expires_at) then
    with recursive below (id, ends) as (
      select t.id, n.expires_at from changed n join before o on o.id = n.id join tokens t on t.made_by = n.id
        where n.expires_at is distinct from o.expires_at and t.revoked_at is null
          and (t.expires_at is null or t.expires_at > n.expires_at)
      union select t.id, b.ends from tokens t join below b on t.made_by = b.id
        where t.revoked_at is null and (t.expires_at is null or t.expires_at > b.ends))
    update tokens t set expires_at = b.ends, updated_at = now()
      from (select id, min(ends) ends from below group by id) b where t.id = b.id;
    update sessions s set expires_at = n.expires_at from changed n
      where s.token_id = n.id and s.ended_at is null and s.expires_at > n.expires_at;
    update report_links l set expires_at = n.expires_at from changed n
      where l.token_id = n.id and l.expires_at > n.expires_at;
  end if;
  return null;
end $$;
create trigger tokens_end_made after update on tokens referencing old table as before new table as changed
  for each statement execute function end_made_by_tokens();

-- A changed token or user stops working on every replica at once: each listens on py_tokens and drops it from its
-- cache.

create function notify_token() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_tokens', json_build_object('token', coalesce(new.id, old.id),
    'sha256', encode(coalesce(new.sha256, old.sha256), 'hex'))::text);
  -- Rotated: the text before must be dropped, too.
  if tg_op = 'UPDATE' and old.sha256 is distinct from new.sha256 then
    perform pg_notify('py_tokens', json_build_object('token', old.id, 'sha256', encode(old.sha256, 'hex'))::text);
  end if;
  return null;
end $$;
create trigger tokens_notify after insert or update or delete on tokens
  for each row execute function notify_token();

-- Names the root user, so that caches drop that account alone.
create function notify_user() returns trigger language plpgsql as $$
declare
  old_root bigint := coalesce(old.parent_ids[1], old.root_id, old.id);
  new_root bigint;
begin
  perform pg_notify('py_tokens', json_build_object('user', old.id, 'root', old_root)::text);
  if tg_op = 'UPDATE' then
    new_root := coalesce(new.parent_ids[1], new.root_id, new.id);
    -- Moved to another account.
    if new_root <> old_root then
      perform pg_notify('py_tokens', json_build_object('user', new.id, 'root', new_root)::text);
    end if;
  end if;
  return null;
end $$;
create trigger users_notify after update or delete on users for each row execute function notify_user();

-- Whether an account has as many sub-users or live tokens as it may, over all its users: each token has a rate of its
-- own, so without a bound the account's rate has none. Two that are made at once are counted one after the other: the
-- lock lasts until the transaction ends, and the counts after it see what was made meanwhile (a volatile function takes
-- a new snapshot for each of its queries).
create function account_full(p_root bigint, p_sub_users integer, p_tokens integer) returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.account'), hashint8(p_root));
  if p_sub_users <= (select count(*) from users where root_id = p_root and id <> p_root) then
    return 'sub-users';
  end if;
  if p_tokens <= (select count(*) from users u join tokens t on t.user_id = u.id
      where (u.id = p_root or u.root_id = p_root)
      and t.revoked_at is null and t.sha256 is not null and (t.expires_at is null or t.expires_at > now())) then
    return 'tokens';
  end if;
  return null;
end $$;

-- Whether an account has as many links as it may. Counted one after the other, too.
create function report_links_full(p_root bigint, p_most integer) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.account'), hashint8(p_root));
  return p_most <= (select count(*) from users u join report_links l on l.user_id = u.id
    where (u.id = p_root or u.root_id = p_root) and l.expires_at > now());
end $$;

-- Who a user is at an issuer of single sign-on. An e-mail address identifies nobody: it may be given to another person.
create table identities (
  issuer text not null check (length(issuer) <= 2048),
  subject text not null check (length(subject) <= 255),
  user_id bigint not null references users on delete cascade,
  created_at timestamptz not null default now(),
  -- The last sign-in.
  seen_at timestamptz not null default now(),
  primary key (issuer, subject)
);
create index identities_user on identities (user_id);

-- Keys that sign JWTs.
create table signing_keys (
  kid text primary key,
  public jsonb not null,
  -- The private half, sealed with the installation's key.
  sealed bytea not null,
  created_at timestamptz not null default now(),
  signs_until timestamptz not null,
  verifies_until timestamptz not null
);

-- Codes of mailed links, each valid once and for a short time. A sign-in link is a code, too: its id is a part of the
-- hash of what the link carries.
create table account_codes (
  id uuid primary key,
  user_id bigint not null references users on delete cascade,
  purpose text not null check (purpose in ('verify', 'reset', 'sign-in')),
  -- A verification sets the password and names that were given with it, so an earlier sign-up with the same address
  -- gains nothing.
  password_hash text,
  first_name text,
  last_name text,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index account_codes_user on account_codes (user_id);
create index account_codes_expired on account_codes (expires_at);

create table mails (
  id uuid primary key,
  user_id bigint references users on delete cascade,
  recipient text not null,
  subject text not null,
  -- The text contains a code: sealed with the installation's key, and deleted when it is sent.
  sealed bytea not null,
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create index mails_due on mails (next_at);

-- Rates of calls and of attempts to sign in. Unlogged: a crash forgives some calls, which is cheaper than a sync for
-- each.

create unlogged table rate_limits (
  scope text not null,
  id bigint not null,
  -- GCRA's theoretical arrival time.
  tat timestamptz not null,
  primary key (scope, id)
) with (fillfactor = 50);

-- GCRA: `per_minute` calls may come at once, and then one every 60/per_minute seconds. The time is read when the row is
-- locked, not when the statement began.
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
  remaining := case when allowed
    then greatest(0, floor((60000 - ahead) * p_per_minute / 60000 + 1e-6)) else 0 end;
  reset_ms := ceil(ahead);
  retry_after_ms := case when allowed then 0 else ceil(greatest(1, ahead + 60000.0 / p_per_minute - 60000)) end;
end $$;

create unlogged table attempts (
  scope text not null,
  key bytea not null,
  tat timestamptz not null,
  primary key (scope, key)
) with (fillfactor = 50);
create index attempts_tat on attempts (tat);

-- `p_burst` attempts at once, then one every `p_every_ms`. Returns the time until the next one; 0: this one is allowed.
create function take_attempt(p_scope text, p_key bytea, p_every_ms integer, p_burst integer)
returns integer language plpgsql as $$
declare
  step interval := make_interval(secs => p_every_ms / 1000.0);
  t timestamptz;
begin
  insert into attempts as a (scope, key, tat) values (p_scope, p_key, clock_timestamp() + step)
    on conflict (scope, key) do update set tat = greatest(a.tat, clock_timestamp()) + step
    where greatest(a.tat, clock_timestamp()) + step <= clock_timestamp() + step * p_burst;
  if found then return 0; end if;
  select a.tat into t from attempts a where a.scope = p_scope and a.key = p_key;
  return greatest(1, ceil(extract(epoch from t + step - (clock_timestamp() + step * p_burst)) * 1000));
end $$;

-- The audit log: who changed what, who saw a secret, and who was denied. An entry names users, tokens and sessions by
-- their numbers alone, so what is erased has no name here. Nothing refers to them: entries outlive what they are about.
create table audit (
  -- The id of the call, which orders entries by time.
  id uuid primary key,
  at timestamptz not null default now(),
  -- Null: no user.
  actor_id bigint,
  -- The root user of the actor.
  account_id bigint,
  -- The credential. Both null: a password, a code, an issuer, or no user.
  token_id bigint,
  session_id uuid,
  address text not null default '',
  action text not null,
  -- A kind and an id: user/7, policy/delivery.
  subject text,
  outcome text not null check (outcome in ('done', 'denied')),
  -- Why it was denied.
  code text,
  changes jsonb not null default '[]' check (jsonb_typeof(changes) = 'array')
);
create index audit_at on audit (at);
create index audit_account on audit (account_id, id);
create index audit_actor on audit (actor_id, id);
create index audit_subject on audit (subject, id);

-- Roles of API and controllers have no right to either. Where all sign in as the owner, this is what refuses it.
create function keep_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('probeyard.forgets_audit', true) = 'yes' then return old; end if;
  raise exception 'entries of the audit log are neither changed nor deleted';
end $$;
create trigger audit_kept before update or delete on audit for each row execute function keep_audit();

-- Deletes entries from before this time, at most so many. Returns their number.
create function forget_audit(p_before timestamptz, p_most integer default 10000) returns integer language plpgsql as $$
declare
  gone integer;
begin
  perform set_config('probeyard.forgets_audit', 'yes', true);
  delete from audit where id in (select id from audit where at < p_before order by at limit p_most);
  get diagnostics gone = row_count;
  perform set_config('probeyard.forgets_audit', '', true);
  return gone;
end $$;
