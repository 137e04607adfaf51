-- The audit log: who changed what, who saw a secret, and who was denied. An entry names users, tokens and sessions by
-- their numbers alone, so what is erased has no name here. Nothing refers to them: entries outlive what they are about.
create table audit (
  -- The id of the call, which orders entries by time.
  id uuid primary key,
  at timestamptz not null default now(),
  -- Null: no user.
  actor_id bigint,
  -- The root user of the actor.
  account_id bigint,
  -- The credential. Both null: a password, a code, an issuer, or no user.
  token_id bigint,
  session_id uuid,
  address text not null default '',
  action text not null,
  -- A kind and an id: user/7, policy/delivery.
  subject text,
  outcome text not null check (outcome in ('done', 'denied')),
  -- Why it was denied.
  code text,
  changes jsonb not null default '[]' check (jsonb_typeof(changes) = 'array')
);
create index audit_at on audit (at);
create index audit_account on audit (account_id, id);
create index audit_actor on audit (actor_id, id);
create index audit_subject on audit (subject, id);

-- Roles of API and controllers have no right to either. Where all sign in as the owner, this is what refuses it.
create function keep_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('probeyard.forgets_audit', true) = 'yes' then return old; end if;
  raise exception 'entries of the audit log are neither changed nor deleted';
end $$;
create trigger audit_kept before update or delete on audit for each row execute function keep_audit();

-- Deletes entries from before this time, at most so many. Returns their number.
create function forget_audit(p_before timestamptz, p_most integer default 10000) returns integer language plpgsql as $$
declare
  gone integer;
begin
  perform set_config('probeyard.forgets_audit', 'yes', true);
  delete from audit where id in (select id from audit where at < p_before order by at limit p_most);
  get diagnostics gone = row_count;
  perform set_config('probeyard.forgets_audit', '', true);
  return gone;
end $$;

-- As at the end of 0005_removal.sql.
do $$
declare
  path text := (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s) || ', pg_temp';
begin
  execute 'alter function forget_audit(timestamptz, integer) security definer';
  execute format('alter function forget_audit(timestamptz, integer) set search_path = %s', path);
  execute 'revoke all on function forget_audit(timestamptz, integer) from public';
end $$;

-- Who had every permission of their role goes on having it.
update users set permissions = array_append(permissions, 'read:audit')
  where permissions @> '{read:profile,read:statistics,read:sub-user,read:user}'
    and not permissions @> '{read:audit}' and role <> 'sub';
