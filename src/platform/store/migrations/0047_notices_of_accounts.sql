-- A notice of a changed user names the root user of the account, so that caches forget that account alone.
-- Replicas of the version before read any notice of a user as "forget everything".
create or replace function notify_user() returns trigger language plpgsql as $$
declare
  old_root bigint := coalesce(old.parent_ids[1], old.root_id, old.id);
  new_root bigint;
begin
  perform pg_notify('py_tokens', json_build_object('user', old.id, 'root', old_root)::text);
  if tg_op = 'UPDATE' then
    new_root := coalesce(new.parent_ids[1], new.root_id, new.id);
    -- Moved to another account.
    if new_root <> old_root then
      perform pg_notify('py_tokens', json_build_object('user', new.id, 'root', new_root)::text);
    end if;
  end if;
  return null;
end $$;
