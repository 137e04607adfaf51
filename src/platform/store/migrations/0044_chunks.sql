-- Chunks: several requests of a batch with one ProbeJob. They are submitted at one time, so they lie in one partition.

-- Opens a request for each of these items that wait, all or none: as open_item. A repeat is `opened` again.
create function open_items(
  p_epoch bigint, p_batch uuid, p_created_at timestamptz, p_items jsonb, p_submitted_at timestamptz,
  p_token_id bigint, p_user_id bigint, p_kind text, p_request jsonb, p_tools jsonb, p_queue_timeout_ms integer,
  p_timeout_ms integer, p_quotas jsonb, p_root_id bigint)
returns text language plpgsql as $$
declare
  ids uuid[] := array(select (one ->> 'id')::uuid from jsonb_array_elements(p_items) one);
  one record;
  opened text;
  waiting integer;
begin
  perform 1 from batch_items i
    where i.batch_id = p_batch and i.created_at = p_created_at and i.request_id = any(ids);
  if found then return 'opened'; end if;
  perform pg_advisory_xact_lock_shared(hashtext('probeyard.batch-driver'));
  perform 1 from batch_driver d where d.epoch = p_epoch;
  if not found then return 'not-driver'; end if;
  perform pg_advisory_xact_lock_shared(hashtext('probeyard.batch'), hashtext(p_batch::text));
  perform 1 from batches b where b.id = p_batch and b.state = 'running';
  if not found then return 'not-running'; end if;
  perform 1 from batch_items i
    join jsonb_to_recordset(p_items) g (n integer, attempt integer) on g.n = i.n
    where i.batch_id = p_batch and i.created_at = p_created_at
      and i.state = 'waiting' and i.tries = g.attempt - 1
    order by i.n for update of i;
  get diagnostics waiting = row_count;
  if waiting <> cardinality(ids) then return 'not-waiting'; end if;
  for one in select * from jsonb_to_recordset(p_items) g (id uuid, display text, scheme text, waiter text) loop
    -- Quotas are judged once, with all of them.
    select o.outcome into opened from open_request(one.id, p_submitted_at, p_token_id, p_user_id, p_kind, one.display,
      one.scheme, p_request, p_tools, p_queue_timeout_ms, p_timeout_ms, one.waiter, null, null, null, 0,
      case when one.id = ids[cardinality(ids)] then p_quotas end, p_root_id) o;
    if opened <> 'opened' then
      delete from requests r where r.id = any(ids) and r.submitted_at = p_submitted_at;
      return opened;
    end if;
  end loop;
  update batch_items i set state = 'running', tries = g.attempt, request_id = g.id, submitted_at = p_submitted_at
    from jsonb_to_recordset(p_items) g (n integer, attempt integer, id uuid)
    where i.batch_id = p_batch and i.created_at = p_created_at and i.n = g.n;
  return 'opened';
end $$;

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
