-- As before, but time that holds nothing is passed over: an installation that stood still for months catches up in a few steps.
create or replace function drop_envelopes(p_before timestamptz, p_step interval default '10 minutes') returns boolean language plpgsql as $$
declare
  since timestamptz;
  old record;
  until timestamptz;
  gone integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('probeyard.envelopes')) then return false; end if;
  select (value #>> '{}')::timestamptz into since from settings where key = 'envelopes.since';
  if since >= p_before then return false; end if;
  for old in select part from month_partitions('envelopes') where ends <= p_before loop
    perform drop_partition(old.part);
  end loop;
  until := least(p_before, since + p_step);
  -- What came late for its time, too.
  delete from envelopes where submitted_at < until and submitted_at >= since - interval '1 day';
  get diagnostics gone = row_count;
  if gone = 0 then
    select min(submitted_at) into until from envelopes where submitted_at >= until and submitted_at < p_before;
    until := coalesce(until, p_before);
  end if;
  update settings set value = to_jsonb(until::text) where key = 'envelopes.since';
  return until < p_before;
end $$;
