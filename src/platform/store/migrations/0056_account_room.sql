-- How many sub-users and live tokens an account may have, over all its users: each token has a rate of its own, so without a bound the
-- account's rate has none. Two that are made at once are counted one after the other: the lock lasts until the maker's transaction ends,
-- and the counts that follow it see what was made meanwhile (a volatile function takes a new snapshot for each of its queries).
create function account_full(p_root bigint, p_sub_users integer, p_tokens integer) returns text language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('probeyard.account'), hashint8(p_root));
  if p_sub_users <= (select count(*) from users where root_id = p_root and id <> p_root) then
    return 'sub-users';
  end if;
  if p_tokens <= (select count(*) from users u join tokens t on t.user_id = u.id where (u.id = p_root or u.root_id = p_root)
      and t.revoked_at is null and t.sha256 is not null and (t.expires_at is null or t.expires_at > now())) then
    return 'tokens';
  end if;
  return null;
end $$;
