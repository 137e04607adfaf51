-- A partition per month (UTC), made ahead; a default one beside them, so that a clock or a missed run never refuses a request.

create table requests_default partition of requests default;
create table envelopes_default partition of envelopes default;

-- Makes the partitions of this month and the `ahead` next ones. Rows that fell into the default partition move to the new one.
-- Attaching takes a lock on the parent that lets reads and writes go on; only the (nearly empty) default one is shut for a moment.
create function ensure_partitions(ahead integer default 2) returns integer language plpgsql as $$
declare
  parent text;
  starts timestamptz;
  ends timestamptz;
  part text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.partitions'));
  foreach parent in array array['requests', 'envelopes'] loop
    -- The last month too: a request of 23:59:59 may be written after midnight.
    for back in -1..ahead loop
      starts := (date_trunc('month', now() at time zone 'UTC') + make_interval(months => back)) at time zone 'UTC';
      ends := ((starts at time zone 'UTC') + interval '1 month') at time zone 'UTC';
      part := parent || to_char(starts at time zone 'UTC', '_YYYYMM');
      if to_regclass(part) is not null then continue; end if;
      execute format('create table %I (like %I including all)', part, parent);
      execute format('lock table %I in access exclusive mode', parent || '_default');
      execute format('with moved as (delete from %I where submitted_at >= %L and submitted_at < %L returning *) insert into %I select * from moved',
        parent || '_default', starts, ends, part);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, part, starts, ends);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;

select ensure_partitions();
