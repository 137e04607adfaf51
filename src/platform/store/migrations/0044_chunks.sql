-- Chunks: several requests of a batch with one ProbeJob. They are submitted at one time, so they lie in one partition.

-- Takes back those of these requests that are open, because their chunk does not come to them: their items wait as
-- before, and nothing is left of the requests. Returns how many there were.
create function return_items(p_ids uuid[], p_submitted_at timestamptz, p_after_ms integer)
returns integer language plpgsql as $$
declare
  gone uuid[];
begin
  with deleted as (
    delete from requests r using batch_items i
      where r.id = any(p_ids) and r.submitted_at = p_submitted_at and r.state = 'open'
        and i.request_id = r.id and i.state = 'running'
      returning r.id)
  select array_agg(id) into gone from deleted;
  update batch_items i set state = 'waiting', tries = i.tries - 1, request_id = null, submitted_at = null,
      not_before = case when p_after_ms > 0 then now() + make_interval(secs => p_after_ms / 1000.0)
        else i.not_before end
    where i.request_id = any(gone) and i.state = 'running';
  return coalesce(cardinality(gone), 0);
end $$;

-- The first of these requests that is open, and whether its batch runs, or stopped because it fills a quota. Not in SQL
-- alone, which would be planned for each call.
create function open_of_chunk(p_ids uuid[], p_submitted_at timestamptz)
returns table (id uuid, is_wanted boolean) language plpgsql stable as $$
begin
  return query select r.id, coalesce(b.state = 'running' or (b.state = 'stopped' and b.reason = 'QuotaExceeded'), false)
    from requests r
      left join batch_items i on i.request_id = r.id and i.state = 'running'
      left join batches b on b.id = i.batch_id and b.created_at = i.created_at
    where r.id = any(p_ids) and r.submitted_at = p_submitted_at and r.state = 'open' order by r.id limit 1;
end $$;

-- As at the end of 0005_removal.sql: controllers may read neither the keys nor the addresses of batches.
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['return_items(uuid[], timestamptz, integer)', 'open_of_chunk(uuid[], timestamptz)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
