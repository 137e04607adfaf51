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
