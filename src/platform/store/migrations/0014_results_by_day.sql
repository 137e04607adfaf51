-- Results in a part per day, which is dropped when it is past its age. Deleted rows of a month gave no disk back while
-- the month went on, and took WAL and vacuum.

-- The parts of a table that is divided by time, by their bounds; without the default one. The first part of a table may
-- begin at -infinity.
create function time_parts(p_parent regclass, out part regclass, out starts timestamptz, out ends timestamptz)
returns setof record language sql stable as $$
  select c.oid::regclass, coalesce(substring(b.bound from $q$FROM \('([^']+)'\)$q$)::timestamptz, '-infinity'),
    substring(b.bound from $q$TO \('([^']+)'\)$q$)::timestamptz
  from pg_inherits i join pg_class c on c.oid = i.inhrelid,
    lateral (select pg_get_expr(c.relpartbound, c.oid) bound) b
  where i.inhparent = p_parent and b.bound <> 'DEFAULT'
$$;

create or replace function month_partitions(p_parent regclass, out part regclass, out ends timestamptz)
returns setof record language sql stable as $$
  select p.part, p.ends from time_parts(p_parent) p
$$;

-- Statements wait behind one that waits for a lock of the whole table: briefly, and another time again.
create or replace function drop_partition(p_part regclass) returns boolean language plpgsql as $$
begin
  set local lock_timeout = '250ms';
  execute format('drop table %s', p_part);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Makes the parts of the last, this and the next months, or days: `ahead` months, and `ahead` weeks of days. Rows of
-- the default part move to the new one. Attaching takes a lock on the parent that lets reads and writes go on; only the
-- (nearly empty) default part is locked for a moment. While a long transaction reads it, a part is made later.
create or replace function ensure_partitions(ahead integer default 2) returns integer language plpgsql as $$
declare
  divided record;
  utc timestamp;
  since timestamptz;
  until timestamptz;
  part text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.partitions'));
  set local lock_timeout = '250ms';
  for divided in
    select d.*, ('1 ' || d.unit)::interval width from (values
      ('requests', 'submitted_at', 'month', '_YYYYMM', ahead, ''),
      ('envelopes', 'submitted_at', 'day', '_YYYYMMDD', ahead * 7, ''),
      ('rollup_minute', 'at', 'month', '_YYYYMM', ahead, ' with (fillfactor = 90)'),
      ('batch_items', 'created_at', 'month', '_YYYYMM', ahead, ''))
        d (parent, by_time, unit, suffix, steps, options)
      join pg_class c on c.oid = to_regclass(d.parent) and c.relkind = 'p'
  loop
    -- The last one too: a request of 23:59:59 may be written after midnight.
    for step in -1..divided.steps loop
      utc := date_trunc(divided.unit, now() at time zone 'UTC') + step * divided.width;
      since := utc at time zone 'UTC';
      until := (utc + divided.width) at time zone 'UTC';
      continue when exists (
        select from time_parts(divided.parent::regclass) p where p.starts < until and p.ends > since);
      part := divided.parent || to_char(utc, divided.suffix);
      begin
        execute format('lock table %I in access exclusive mode', divided.parent || '_default');
        execute format('create table %I (like %I including all)%s', part, divided.parent, divided.options);
        execute format('with moved as (delete from %1$I where %2$I >= %3$L and %2$I < %4$L returning *)
          insert into %5$I select * from moved', divided.parent || '_default', divided.by_time, since, until, part);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          divided.parent, part, since, until);
      exception when lock_not_available then
        return made;
      end;
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;

-- Drops one day of results that ended before p_before, or a part of what is as old in the default part. True: there is
-- more to do. One at a time, because the lock of the whole table is held until the end. p_step has no meaning any more.
create or replace function drop_envelopes(p_before timestamptz, p_step interval default '10 minutes')
returns boolean language plpgsql as $$
declare
  old record;
  gone integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.envelopes')) then return false; end if;
  for old in select part from time_parts('envelopes') where ends <= p_before order by ends loop
    -- A part that is being read delays no other.
    if drop_partition(old.part) then return true; end if;
  end loop;
  delete from envelopes_default where ctid = any(array(
    select ctid from envelopes_default where submitted_at < p_before limit 1000));
  get diagnostics gone = row_count;
  return gone = 1000;
end $$;

-- The months ahead are empty. This month's part stays until its last result is past its age.
lock table envelopes in access exclusive mode;
do $$
declare
  old record;
  used boolean;
begin
  for old in select part from time_parts('envelopes') loop
    execute format('select exists (select from %s)', old.part) into used;
    if not used then execute format('drop table %s', old.part); end if;
  end loop;
end $$;
drop index envelopes_time;
delete from settings where key = 'envelopes.since';

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['ensure_partitions(integer)', 'drop_partition(regclass)',
    'drop_envelopes(timestamptz, interval)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
  end loop;
end $$;
