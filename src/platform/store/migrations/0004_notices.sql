-- A changed token or user stops working on every replica at once: each listens on py_tokens and forgets what it had cached.

create function notify_token() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_tokens', json_build_object('token', coalesce(new.id, old.id), 'sha256', encode(coalesce(new.sha256, old.sha256), 'hex'))::text);
  -- A rotated token: the old one must be forgotten too.
  if tg_op = 'UPDATE' and old.sha256 is distinct from new.sha256 then
    perform pg_notify('py_tokens', json_build_object('token', old.id, 'sha256', encode(old.sha256, 'hex'))::text);
  end if;
  return null;
end $$;
create trigger tokens_notify after insert or update or delete on tokens for each row execute function notify_token();

create function notify_user() returns trigger language plpgsql as $$
begin
  perform pg_notify('py_tokens', json_build_object('user', coalesce(new.id, old.id))::text);
  return null;
end $$;
create trigger users_notify after update or delete on users for each row execute function notify_user();
