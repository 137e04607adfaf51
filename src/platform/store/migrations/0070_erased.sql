-- What was erased because somebody asked for it, by number alone. A restored backup still has it, and erases it again.
-- Written by functions that run as the owner (erase_user, erase_request), so no other role has rights here.
create table erased (
  kind text not null check (kind in ('user', 'request')),
  id text not null,
  at timestamptz not null default now(),
  primary key (kind, id)
);
create index erased_at on erased (at);

create function keep_erased_user() returns trigger language plpgsql as $$
begin
  insert into erased (kind, id) values ('user', new.user_id::text) on conflict do nothing;
  return null;
end $$;
create trigger erasures_kept after insert on erasures for each row execute function keep_erased_user();

create function keep_erased_request() returns trigger language plpgsql as $$
begin
  insert into erased (kind, id) values ('request', new.id::text) on conflict do nothing;
  return null;
end $$;
create trigger requests_erased after update of erased_at on requests
  for each row when (new.erased_at is not null) execute function keep_erased_request();
