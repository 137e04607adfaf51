-- API and controllers may sign in as roles that own nothing (roles.ts). What only the owner may do, they do through these functions, which
-- run as the owner and each do one thing. pg_temp comes last: otherwise a caller's temporary table would take the place of a real one.
-- Rights to call them are given in roles.ts; nobody else has them.
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
  f text;
begin
  foreach f in array array['ensure_partitions(integer)', 'drop_partition(regclass)', 'drop_envelopes(timestamptz, interval)', 'drop_requests(timestamptz)', 'erase_user(bigint)', 'erase_step(bigint, integer)'] loop
    execute format('alter function %s security definer', f);
    execute format('alter function %s set search_path = %s', f, path);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
