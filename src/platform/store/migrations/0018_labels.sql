-- Labels of accounts, such as a cost centre, and whom the figures of erased users are charged to: a month that was
-- charged stays as it was.

-- Of root users only.
alter table users add column labels jsonb not null default '{}' check (jsonb_typeof(labels) = 'object');

-- Figures of user -1, which are those of erased users, have the id of a share as their token. 0: an account without
-- labels.
create table erased_shares (
  id bigint generated always as identity primary key,
  -- The account of erased sub-users. Null: it is erased, too, and only its labels are left.
  account_id bigint,
  labels jsonb not null default '{}'
);
alter table erasures add column share_id bigint not null default 0;

-- The share of what is erased with this user, who still exists.
create function share_of_erased(p_user bigint) returns bigint language plpgsql as $$
declare
  root record;
  share bigint;
begin
  select a.id, a.labels into root from users u join users a on a.id = coalesce(u.root_id, u.id) where u.id = p_user;
  if not found then return 0; end if;
  if root.id <> p_user then
    select id into share from erased_shares where account_id = root.id limit 1;
    if share is null then
      insert into erased_shares (account_id) values (root.id) returning id into share;
    end if;
    return share;
  end if;
  update erased_shares set account_id = null, labels = root.labels where account_id = p_user;
  if root.labels = '{}' then return 0; end if;
  select id into share from erased_shares where account_id is null and labels = root.labels limit 1;
  if share is null then
    insert into erased_shares (labels) values (root.labels) returning id into share;
  end if;
  return share;
end $$;

-- Deletes the user, all users below and their tokens at once; erase_step erases their data in steps. Returns the users.
create or replace function erase_user(p_user bigint) returns bigint[] language plpgsql as $$
declare
  gone bigint[];
  share bigint;
begin
  with recursive below (id) as (
    select p_user union select u.id from users u join below b on u.parent_id = b.id or u.root_id = b.id)
  select array_agg(id) into gone from below where id in (select id from users);
  if gone is null then return '{}'; end if;
  share := share_of_erased(p_user);
  insert into erasures (user_id, token_ids, share_id)
    select g, coalesce((select array_agg(t.id) from tokens t where t.user_id = g), '{}'), share from unnest(gone) g
    on conflict (user_id) do nothing;
  delete from tokens where user_id = any(gone);
  delete from users where id = any(gone);
  return gone;
end $$;

do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
begin
  alter function erase_user(bigint) security definer;
  execute format('alter function erase_user(bigint) set search_path = %s', path);
  -- Only erase_user, which runs as the owner, calls it.
  revoke all on function share_of_erased(bigint) from public;
end $$;
