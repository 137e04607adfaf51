-- What the events of a source alone have named, and a subscription of SNS that waits to be confirmed.

alter table sources
  -- Of which day event_objects is, in UTC.
  add column event_day date,
  -- Objects that events were the first to name.
  add column event_objects integer not null default 0,
  -- Of the address that confirms it; empty: of no host. Null: none waits.
  add column confirmation_host text;

-- Of an object that only events have named: when it is forgotten. Infinity: it was not missing yet.
alter table source_objects add column leaves_at timestamptz;
create index source_objects_leaving on source_objects (leaves_at) where leaves_at < 'infinity';
