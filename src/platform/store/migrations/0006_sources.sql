-- Sources: buckets that are listed on a schedule and report their changes. What is new becomes items of batches.

create table sources (
  -- UUIDv7: its time is created_at.
  id uuid primary key,
  created_at timestamptz not null,
  token_id bigint not null,
  user_id bigint not null,
  name text,
  -- deleting: its batches are cancelled, and its objects dropped in pieces.
  state text not null default 'running' check (state in ('running', 'paused', 'stopped', 'deleting')),
  reason text,
  text text,
  url text not null,
  -- What is wanted of it, as that of a listing.
  filter jsonb not null,
  -- What was sent, sealed in the box: the address of its webhook may have a secret.
  body bytea not null,
  -- Of the secret that addresses for its events have.
  key_sha256 bytea not null,
  -- Seconds between two listings. Null: only events.
  every integer,
  -- Seconds for which an object must not have changed.
  settle integer not null,
  -- Seconds between two batches.
  bundle integer not null,
  -- Whether objects older than the source are probed.
  existing boolean not null,
  -- Number of rows of source_objects.
  objects integer not null default 0,
  -- Null: no listing is due.
  list_at timestamptz,
  bundle_at timestamptz not null default '-infinity',
  last_listing jsonb,
  events_noted bigint not null default 0,
  events_ignored bigint not null default 0,
  last_event_at timestamptz,
  -- Of which day event_objects is, in UTC.
  event_day date,
  -- Objects that events were the first to name.
  event_objects integer not null default 0,
  -- Of the address that confirms a subscription of SNS, which waits for it; empty: of no host. Null: none waits.
  confirmation_host text
);
create index sources_user on sources (user_id, id desc);
-- The bucket of s3://BUCKET/PREFIX.
create index sources_bucket on sources (split_part(url, '/', 3));

-- The newest version that is known of each object, and the one that was probed last.
create table source_objects (
  source_id uuid not null,
  -- Of the name, which may be longer than an index takes.
  hash bytea not null,
  -- Empty as long as nothing is due: a million names would be a gigabyte.
  name text not null,
  version bytea not null,
  -- When the object was so: the time of its event, or the beginning of the listing's page.
  at timestamptz not null,
  -- Null: the version is taken.
  due_at timestamptz,
  -- The version of which an item was made.
  taken bytea,
  -- Of an object that only events have named: when it is forgotten. Infinity: it was not missing yet.
  leaves_at timestamptz,
  primary key (source_id, hash)
) with (fillfactor = 80);
create index source_objects_leaving on source_objects (leaves_at) where leaves_at < 'infinity';
create index source_objects_due on source_objects (source_id, due_at) where due_at is not null;

-- A listing that has ended, with its item. False: there is none. Roles that may not delete batches may call it.
create function drop_source_listing(p_source uuid, p_batch uuid) returns boolean language plpgsql as $$
declare
  gone timestamptz;
begin
  delete from batches where id = p_batch and source_id = p_source and listing is not null and state = 'ended'
    returning created_at into gone;
  if not found then return false; end if;
  delete from batch_items where batch_id = p_batch and created_at = gone;
  return true;
end $$;

-- The batch of each ProbeBatch, and the source of each ProbeSource. Its id is written before it is created, so an
-- object has one, however often its creation begins. The row goes when the object is gone and its batch or source ends.
create table followed_objects (
  uid text primary key,
  kind text not null check (kind in ('ProbeBatch', 'ProbeSource')),
  namespace text not null,
  name text not null,
  made_id uuid not null,
  -- Of the request that its source was made or changed by. Null: the source may not be there yet.
  request_sha256 bytea
);
create index followed_objects_made on followed_objects (made_id);
