-- Waivers: findings of content checks, and rules of policies, that an account accepts until a time.
create table waivers (
  -- UUIDv7: its time is created_at.
  id uuid primary key,
  account_id bigint not null references users on delete cascade,
  -- Who made it. Not a foreign key: it outlives a sub-user.
  user_id bigint not null,
  -- As the log shows the address, without its query. Null: all sources that the policy judges.
  source text,
  source_sha256 bytea check ((source is null) = (source_sha256 is null)),
  policy text,
  rule text check ((policy is null) = (rule is null)),
  check_name text check ((check_name is null) <> (policy is null) and (check_name is null or source is not null)),
  stream integer check ((stream is null) = (check_name is null)),
  -- In seconds. Null: the check has no times.
  from_s double precision,
  to_s double precision check ((from_s is null) = (to_s is null)),
  reason text not null,
  created_at timestamptz not null,
  until timestamptz not null check (until <= created_at + interval '400 days'),
  revoked_at timestamptz
);
create index waivers_account on waivers (account_id, id desc);
create index waivers_live on waivers (account_id, source_sha256) where revoked_at is null;

-- True: the account has as many live ones as it may. Of those that have ended, it keeps the newest p_most.
create function waivers_full(p_account bigint, p_most integer) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.account'), hashint8(p_account));
  delete from waivers where id in (
    select w.id from waivers w
      where w.account_id = p_account and (w.revoked_at is not null or w.until <= now())
      order by w.id desc offset p_most);
  return p_most <= (select count(*) from waivers w
    where w.account_id = p_account and w.revoked_at is null and w.until > now());
end $$;
