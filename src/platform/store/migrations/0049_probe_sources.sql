-- ProbeSources: the source of each object of Kubernetes, as batch_objects has their batches.
create table probe_sources (
  uid text primary key,
  namespace text not null,
  name text not null,
  source_id uuid not null,
  -- Of the request that its source was made or changed by. Null: the source may not be there yet.
  request_sha256 bytea
);
create index probe_sources_source on probe_sources (source_id);
