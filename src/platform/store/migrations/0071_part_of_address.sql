-- Pages of the log by part of an address: an index of the address's trigrams. pg_trgm comes with Postgres and is
-- trusted, but a server may lack it, or not let this role add it. Then such a page reads every request of its users and
-- its time, as before.
-- Requests that have not ended are left out: they are not in the log, and each would be written twice.
-- Small partitions get it at once, and all later ones when they are made. In a large one it would hold up inserts, for
-- about 7 s of 100,000 requests: docs/operating/databases.md says how to add it there.
do $$
declare
  part text;
  small constant bigint := 32 * 1024 * 1024;
begin
  if not exists (select from pg_available_extensions where name = 'pg_trgm') then
    raise notice 'pg_trgm is not installed: the log has no index of addresses';
    return;
  end if;
  create extension if not exists pg_trgm;
  -- The list of entries is merged by whoever fills it: a short one holds up a request for milliseconds.
  create index requests_address on only requests using gin (display gin_trgm_ops)
    with (gin_pending_list_limit = 256) where state <> 'open';
  for part in select inhrelid::regclass::text from pg_inherits where inhparent = 'requests'::regclass loop
    if pg_relation_size(part::regclass) > small then continue; end if;
    execute format('create index %I on %I using gin (display gin_trgm_ops)
      with (gin_pending_list_limit = 256) where state <> ''open''', part || '_address', part);
    execute format('alter index requests_address attach partition %I', part || '_address');
  end loop;
exception when insufficient_privilege or undefined_object or feature_not_supported then
  raise notice 'pg_trgm cannot be used (%): the log has no index of addresses', sqlerrm;
end $$;
