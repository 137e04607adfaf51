-- Who calls, what was asked, what came of it. Rules for every migration: docs in ../migrate.ts.

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
  parent_id bigint references users,
  -- The account that everything counts for; null: the user is his own.
  root_id bigint references users,
  permissions text[] not null default '{}',
  restrictions text[] not null default '{}',
  -- Null: the installation's default (of a sub-user: what his root user has).
  requests_per_minute integer check (requests_per_minute > 0),
  concurrency integer check (concurrency > 0),
  queue_timeout_ms integer check (queue_timeout_ms > 0),
  file_bytes bigint check (file_bytes > 0),
  monthly_quota jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));
create index users_root on users (root_id);

create table tokens (
  id bigint generated always as identity primary key,
  user_id bigint not null references users on delete cascade,
  name text not null default '',
  -- Null: a token that nobody can send (the one of jobs made with kubectl).
  sha256 bytea check (length(sha256) = 32),
  sealed bytea,
  webhook_secret bytea,
  is_default boolean not null default false,
  -- Null: what the user may.
  permissions text[],
  -- Null: inherited. A token narrows what its user has, it never widens it.
  requests_per_minute integer check (requests_per_minute > 0),
  concurrency integer check (concurrency > 0),
  queue_timeout_ms integer check (queue_timeout_ms > 0),
  file_bytes bigint check (file_bytes > 0),
  monthly_quota jsonb,
  allow jsonb not null default '[]' check (jsonb_typeof(allow) = 'array'),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index tokens_sha256 on tokens (sha256);
create unique index tokens_default on tokens (is_default) where is_default;
create index tokens_user on tokens (user_id);

-- One row per request, made when it is accepted, closed exactly once. No foreign keys: it outlives users and tokens,
-- and a key check per request would lock the token's row.
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
  scheme text not null,
  display text not null,
  reason text,
  error text,
  waiter text,
  webhook_url text,
  -- Of one tool each, for the log's filters; null: it was not asked for.
  ffprobe_state text,
  mediainfo_state text,
  report_state text,
  -- As asked while open, as they ended afterwards.
  tools jsonb not null,
  request jsonb not null,
  primary key (id, submitted_at)
) partition by range (submitted_at);
create index requests_open on requests (submitted_at) where state = 'open';
create index requests_user on requests (user_id, submitted_at desc);
create index requests_token on requests (token_id, submitted_at desc);

-- The runner's ResultBody, compressed where it was made: Postgres neither tries again nor cuts it up to do so.
create table envelopes (
  id uuid not null,
  submitted_at timestamptz not null,
  body bytea not null,
  primary key (id, submitted_at)
) partition by range (submitted_at);
alter table envelopes alter column body set storage external;

-- Counted in the transaction that closes the request, by the minute of its submission: sums over it equal a recount.
-- Closers of one token would queue for one row until the other's commit is on disk: `slot` spreads them by connection.
create table usage_minute (
  token_id bigint not null,
  minute timestamptz not null,
  kind text not null,
  scheme text not null,
  slot smallint not null,
  user_id bigint not null,
  requests integer not null,
  success integer not null,
  with_errors integer not null,
  errors integer not null,
  timed_out integer not null,
  processing_ms bigint not null,
  io_bytes bigint not null,
  queue_ms bigint not null,
  queue_max_ms integer not null,
  -- Queue times, counted in the buckets of queue_bucket(): a p95 over any range comes from their sums.
  queue_histogram integer[] not null,
  primary key (token_id, minute, kind, scheme, slot)
) with (fillfactor = 50);
create index usage_minute_user on usage_minute (user_id, minute);

-- Losing it in a crash forgives some calls; it is not worth a sync per request.
create unlogged table rate_limits (
  scope text not null,
  id bigint not null,
  -- GCRA's theoretical arrival time.
  tat timestamptz not null,
  primary key (scope, id)
) with (fillfactor = 50);

create table idempotency (
  token_id bigint not null,
  key text not null,
  body_sha256 bytea not null,
  request_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (token_id, key)
);
create index idempotency_created on idempotency (created_at);

create table webhook_outbox (
  id uuid primary key default gen_random_uuid(),
  request_id uuid not null,
  submitted_at timestamptz not null,
  token_id bigint not null,
  user_id bigint not null,
  url text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts jsonb not null default '[]',
  next_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  unique (request_id)
);
create index webhook_outbox_due on webhook_outbox (next_at) where state = 'pending';
create index webhook_outbox_user on webhook_outbox (user_id, created_at desc);
