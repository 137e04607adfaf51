-- Figures by minute get an age (retention.minuteDays): they go by month, as the request log does. Figures by hour and
-- day stay for good.

-- Figures by minute are complete from then on.
insert into settings (key, value) values ('rollup_minute.since', to_jsonb('-infinity'::text));

-- Whole months of a table that ended before p_before. The setting changes first, the months go at the next call: a
-- replica that has not read the setting yet still finds them.
create function drop_months(p_table text, p_before timestamptz) returns integer language plpgsql as $$
declare
  by_time text := case p_table when 'requests' then 'submitted_at' when 'rollup_minute' then 'at'
    when 'batch_items' then 'created_at' end;
  since timestamptz;
  old record;
  dropped integer := 0;
begin
  if by_time is null then raise 'no table with months is named %', p_table; end if;
  if not pg_try_advisory_xact_lock(hashtext('probeyard.' || p_table)) then return 0; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = p_table || '.since';
  for old in select part from time_parts(p_table::regclass) where ends <= since loop
    if drop_partition(old.part) then dropped := dropped + 1; end if;
  end loop;
  execute format('delete from %1$I where ctid = any(array(select ctid from %1$I where %2$I < $1 limit 10000))',
    p_table || '_default', by_time) using since;
  p_before := date_trunc('month', p_before, 'UTC');
  if since < p_before then
    update settings set value = to_jsonb(p_before::text) where key = p_table || '.since';
  end if;
  -- A month of items is of the batches that were created in it.
  if p_table = 'batch_items' then delete from batches where created_at < greatest(since, p_before); end if;
  return dropped;
end $$;

-- Called by the version before.
create or replace function drop_requests(p_before timestamptz) returns integer language sql as $$
  select drop_months('requests', p_before)
$$;

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['drop_months(text, timestamptz)', 'drop_requests(timestamptz)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;

-- All rows there are will be the first part of the divided table, up to the end of a month. They are checked while
-- reads and writes go on (0016), so that dividing the table (0017) need not read them.
do $$
begin
  execute (select format('alter table rollup_minute add constraint rollup_minute_ends check (at < %L) not valid',
      (date_trunc('month', greatest(max(at), now() + interval '2 days') at time zone 'UTC') + interval '1 month')
        at time zone 'UTC')
    -- Everybody's rows have every minute that there is.
    from rollup_minute where user_id = 0 and token_id = 0);
end $$;
