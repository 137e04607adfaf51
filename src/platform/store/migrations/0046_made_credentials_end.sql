-- What a credential makes ends with it: a JWT of a JWT with the session that asked for it, an API token with the token or the JWT that made it.
-- Triggers do it, so that replicas of the version before end them, too, and so that every reader of tokens and sessions sees them ended.

-- Null: a sign-in with the password, or a JWT that an API token asked for.
alter table sessions
  add column parent_id uuid references sessions on delete cascade,
  -- How many JWTs stand between it and the first one. Bounded, because to end a chain of 5,000 took longer than a statement may.
  add column depth smallint not null default 0 check (depth between 0 and 10);
create index sessions_parent on sessions (parent_id) where parent_id is not null;
create index sessions_token on sessions (token_id) where token_id is not null;

-- Both null: made by a person who signed in, by an administrator, or by the version before.
alter table tokens
  add column made_by bigint references tokens on delete cascade,
  -- The JWT. An ended session is forgotten after a month; its tokens were revoked when it ended.
  add column made_in uuid references sessions on delete set null;
create index tokens_made_by on tokens (made_by) where made_by is not null;
create index tokens_made_in on tokens (made_in) where made_in is not null;

-- By statement and set: a user may have very many sessions. A chain of them is short, and one of live tokens has 100 links.
create function end_made_in_sessions() returns trigger language plpgsql as $$
declare
  -- Those that had ended before are few and have nothing left: to tell them apart took a join, and its cached plan 10 s for 10,000 rows.
  ended uuid[] := array(select id from changed where ended_at is not null);
begin
  if cardinality(ended) = 0 then return null; end if;
  -- What ended before took its own along: the walk stops there, and the trigger's own call finds nothing left.
  with recursive below (id) as (
    select id from sessions where parent_id = any(ended) and ended_at is null
    union select s.id from sessions s join below b on s.parent_id = b.id where s.ended_at is null)
  update sessions s set ended_at = now() from below b where s.id = b.id and s.ended_at is null;
  update tokens set revoked_at = now(), updated_at = now(), sealed = null where made_in = any(ended) and revoked_at is null;
  return null;
end $$;
create trigger sessions_end_made after update on sessions referencing new table as changed
  for each statement execute function end_made_in_sessions();

create function end_made_by_tokens() returns trigger language plpgsql as $$
declare
  -- Revoked, or another one was put in its place.
  ended bigint[] := array(select n.id from changed n join before o on o.id = n.id
    where (n.revoked_at is not null and o.revoked_at is null) or (o.sha256 is not null and n.sha256 is distinct from o.sha256));
begin
  if cardinality(ended) > 0 then
    with recursive below (id) as (
      select id from tokens where made_by = any(ended) and revoked_at is null
      union select t.id from tokens t join below b on t.made_by = b.id where t.revoked_at is null)
    update tokens t set revoked_at = now(), updated_at = now(), sealed = null from below b where t.id = b.id and t.revoked_at is null;
    update sessions set ended_at = now() where token_id = any(ended) and ended_at is null;
  end if;
  if exists (select from changed n join before o on o.id = n.id where n.expires_at is not null and n.expires_at is distinct from o.expires_at) then
    with recursive below (id, ends) as (
      select t.id, n.expires_at from changed n join before o on o.id = n.id join tokens t on t.made_by = n.id
        where n.expires_at is distinct from o.expires_at and t.revoked_at is null and (t.expires_at is null or t.expires_at > n.expires_at)
      union select t.id, b.ends from tokens t join below b on t.made_by = b.id where t.revoked_at is null and (t.expires_at is null or t.expires_at > b.ends))
    update tokens t set expires_at = b.ends, updated_at = now() from (select id, min(ends) ends from below group by id) b where t.id = b.id;
    update sessions s set expires_at = n.expires_at from changed n
      where s.token_id = n.id and s.ended_at is null and s.expires_at > n.expires_at;
  end if;
  return null;
end $$;
create trigger tokens_end_made after update on tokens referencing old table as before new table as changed
  for each statement execute function end_made_by_tokens();

-- JWTs that a JWT asked for: from which token or session they came was not kept, so none of them can end with it. They are asked for again.
update sessions set ended_at = now() where token_id is null and permissions is not null and ended_at is null;
