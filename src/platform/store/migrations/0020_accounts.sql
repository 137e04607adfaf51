-- Accounts: who stands under whom, sessions, the keys that sign their JWTs, codes that are sent by mail, and the mails.

-- All accounts above, the topmost first: whose data one sees, and whose suspension takes one along, is one look at this.
alter table users add column parent_ids bigint[] not null default '{}';
create index users_parents on users using gin (parent_ids);
with recursive placed as (
  select id, '{}'::bigint[] parent_ids from users where parent_id is null
  union all
  select u.id, p.parent_ids || p.id from users u join placed p on p.id = u.parent_id
)
update users u set parent_ids = p.parent_ids from placed p where p.id = u.id and u.parent_ids <> p.parent_ids;

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

create table sessions (
  id uuid primary key,
  user_id bigint not null references users on delete cascade,
  -- Of a JWT that was asked for with an API token: it may no more than the token, and ends with it.
  token_id bigint references tokens on delete cascade,
  permissions text[],
  remote_ip text not null default '',
  user_agent text not null default '',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);
create index sessions_user on sessions (user_id, created_at desc);
create index sessions_expired on sessions (expires_at);

create table signing_keys (
  kid text primary key,
  public jsonb not null,
  -- The private half, sealed with the installation's key.
  sealed bytea not null,
  created_at timestamptz not null default now(),
  signs_until timestamptz not null,
  verifies_until timestamptz not null
);

-- What a mailed link is good for: once, and not for long.
create table account_codes (
  id uuid primary key,
  user_id bigint not null references users on delete cascade,
  purpose text not null check (purpose in ('verify', 'reset')),
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
  -- The text holds a code: sealed with the installation's key, gone when it is sent.
  sealed bytea not null,
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
create index mails_due on mails (next_at);

-- A crash forgives some attempts.
create unlogged table attempts (
  scope text not null,
  key bytea not null,
  tat timestamptz not null,
  primary key (scope, key)
) with (fillfactor = 50);
create index attempts_tat on attempts (tat);

-- `p_burst` attempts at once, then one every `p_every_ms`; how long to wait for the next one, 0 where this one is free.
create function take_attempt(p_scope text, p_key bytea, p_every_ms integer, p_burst integer) returns integer language plpgsql as $$
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
