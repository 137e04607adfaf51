-- A quota of an account between the root user and the token's user: it names its user, and counts that one and all below.
-- Quotas without a user are judged as before: old and new replicas share this function.
create or replace function quota_exceeded(p_quotas jsonb, p_token bigint, p_user bigint, p_root bigint, p_month timestamptz, out exceeded text, out nearest bigint) language plpgsql stable as $$
declare
  quota jsonb;
  used record;
  users bigint[];
begin
  for quota in select * from jsonb_array_elements(p_quotas) loop
    users := case
      when quota->>'scope' = 'account' then (select array_agg(id) from users where id = p_root or root_id = p_root)
      when quota ? 'user' then (select array_agg(id) from users where id = (quota->>'user')::bigint or parent_ids @> array[(quota->>'user')::bigint])
      else array[p_user]
    end;
    select * into used from month_usage(users, case when quota->>'scope' = 'token' then p_token end, p_month);
    exceeded := case
      when used.requests > (quota->'limits'->>'request-count')::numeric then 'request-count'
      when used.processing_ms >= (quota->'limits'->>'processing-time')::numeric then 'processing-time'
      when used.io_bytes >= (quota->'limits'->>'data-processed')::numeric then 'data-processed'
    end;
    if exceeded is not null then return; end if;
    nearest := least(nearest, (quota->'limits'->>'request-count')::numeric - used.requests);
  end loop;
end $$;
