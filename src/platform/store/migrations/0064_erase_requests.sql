-- Erases what is kept of one ended request because its owner asked for it: result, source, options, error, webhook. The row stays, and
-- with it every figure. A repeat under its Idempotency-Key runs anew. Null users: of everyone.
alter table requests add column erased_at timestamptz;

create function erase_request(p_id uuid, p_submitted_at timestamptz, p_users bigint[]) returns text language plpgsql as $$
declare
  r record;
begin
  select q.submitted_at, q.token_id, q.state, q.erased_at into r from requests q
    where q.id = p_id and (p_submitted_at is null or q.submitted_at = p_submitted_at) and (p_users is null or q.user_id = any(p_users))
    for update;
  if not found or r.erased_at is not null then return 'none'; end if;
  if r.state = 'open' then return 'open'; end if;
  delete from envelopes e where e.id = p_id and e.submitted_at = r.submitted_at;
  delete from webhook_outbox w where w.request_id = p_id;
  delete from idempotency i where i.token_id = r.token_id and i.request_id = p_id;
  update requests q set display = '', error = null, request = '{}', webhook_url = null, erased_at = now()
    where q.id = p_id and q.submitted_at = r.submitted_at;
  return 'erased';
end $$;

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
begin
  alter function erase_request(uuid, timestamptz, bigint[]) security definer;
  execute format('alter function erase_request(uuid, timestamptz, bigint[]) set search_path = %s', path);
  revoke all on function erase_request(uuid, timestamptz, bigint[]) from public;
end $$;
