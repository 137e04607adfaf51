-- Policies: those of an account, and the shared ones (account 0), which the leader copies from ProbePolicy objects.
-- Waivers: what an account accepts although a policy or a content check finds it.

create table policy_accounts (
  -- A root user; 0: the shared policies. Changes to the policies of the account lock the row.
  account_id bigint primary key,
  user_id bigint generated always as (nullif(account_id, 0)) stored references users on delete cascade,
  -- New names begin here, so that a name that is deleted and created again repeats no revision.
  first_revision integer not null default 1
);

-- The canonical JSON of policies, saved and inline ones, by its SHA-256. Never changed.
create table policy_documents (
  account_id bigint not null references policy_accounts on delete cascade,
  digest bytea not null check (length(digest) = 32),
  document text not null,
  bytes integer generated always as (octet_length(document)) stored,
  used_at timestamptz not null default now(),
  primary key (account_id, digest)
);

create table policies (
  account_id bigint not null references policy_accounts on delete cascade,
  name text not null,
  revision integer not null check (revision > 0),
  digest bytea not null,
  -- That of the document, for lists.
  description text,
  -- Its author. Null: of a shared one.
  user_id bigint,
  created_at timestamptz not null default now(),
  -- Written at most once an hour. Null: never used.
  used_at timestamptz,
  primary key (account_id, name, revision),
  foreign key (account_id, digest) references policy_documents
);
create index policies_document on policies (account_id, digest);

-- Revisions that requests on record were judged by, or that a caller pinned. They stay readable when they are no longer
-- among the latest of their policy, and when their policy is deleted.
create table former_policies (
  account_id bigint not null references policy_accounts on delete cascade,
  name text not null,
  revision integer not null,
  digest bytea not null,
  description text,
  user_id bigint,
  created_at timestamptz not null,
  used_at timestamptz not null,
  primary key (account_id, name, revision),
  foreign key (account_id, digest) references policy_documents
);
create index former_policies_document on former_policies (account_id, digest);

-- Uses before this are of requests that are no longer on record. An hour less, because used_at may be an hour behind.
create function policies_used_since() returns timestamptz language sql stable as $$
  select coalesce((select (value #>> '{}')::timestamptz from settings where key = 'requests.since'), '-infinity')
    - interval '1 hour'
$$;

-- False: there is no such revision any more.
create function use_policy(p_account bigint, p_name text, p_revision integer) returns boolean language plpgsql as $$
begin
  update policies p set used_at = now() where p.account_id = p_account and p.name = p_name and p.revision = p_revision;
  if found then return true; end if;
  update former_policies f set used_at = now()
    where f.account_id = p_account and f.name = p_name and f.revision = p_revision;
  return found;
end $$;

-- Revisions up to p_until go, but used ones are kept as former ones; documents stay for the jobs that use them.
create function release_policy(p_account bigint, p_name text, p_until integer) returns integer language plpgsql as $$
declare
  gone integer;
begin
  with gone as (
    delete from policies p where p.account_id = p_account and p.name = p_name and p.revision <= p_until returning p.*),
  kept as (
    insert into former_policies (account_id, name, revision, digest, description, user_id, created_at, used_at)
      select g.account_id, g.name, g.revision, g.digest, g.description, g.user_id, g.created_at, g.used_at
        from gone g where g.used_at >= policies_used_since())
  update policy_documents d set used_at = now() from gone where d.account_id = p_account and d.digest = gone.digest;
  get diagnostics gone = row_count;
  return gone;
end $$;

-- Deletes documents without a policy, an hour after their last use: no job lives so long. Null: of every account.
create function forget_policy_documents(p_account bigint) returns integer language plpgsql as $$
declare
  gone integer;
begin
  delete from former_policies f
    where (p_account is null or f.account_id = p_account) and f.used_at < policies_used_since();
  delete from policy_documents d
    where (p_account is null or d.account_id = p_account) and d.used_at < now() - interval '1 hour'
    and not exists (select from policies p where p.account_id = d.account_id and p.digest = d.digest)
    and not exists (select from former_policies f where f.account_id = d.account_id and f.digest = d.digest);
  get diagnostics gone = row_count;
  return gone;
end $$;

-- Keeps a document for at least an hour after its last use. False: the account has as many as it may. Documents without
-- a policy that were not used for an hour make room.
create function keep_policy_document(p_account bigint, p_digest bytea, p_document text, p_most integer,
  p_most_bytes bigint)
returns boolean language plpgsql as $$
declare
  held record;
begin
  update policy_documents d set used_at = now()
    where d.account_id = p_account and d.digest = p_digest and d.used_at < now() - interval '10 minutes';
  if found or exists (select from policy_documents d where d.account_id = p_account and d.digest = p_digest) then
    return true;
  end if;
  insert into policy_accounts (account_id) values (p_account) on conflict do nothing;
  perform from policy_accounts a where a.account_id = p_account for update;
  select count(*) n, coalesce(sum(d.bytes), 0) + octet_length(p_document) bytes into held
    from policy_documents d where d.account_id = p_account;
  if held.n >= p_most or held.bytes > p_most_bytes then
    perform forget_policy_documents(p_account);
    select count(*) n, coalesce(sum(d.bytes), 0) + octet_length(p_document) bytes into held
      from policy_documents d where d.account_id = p_account;
    if held.n >= p_most or held.bytes > p_most_bytes then return false; end if;
  end if;
  insert into policy_documents (account_id, digest, document) values (p_account, p_digest, p_document)
    on conflict do nothing;
  return true;
end $$;

create function policy_revisions_of(p_account bigint) returns bigint language sql stable as $$
  select (select count(*) from policies p where p.account_id = p_account)
    + (select count(*) from former_policies f where f.account_id = p_account)
$$;

-- Saves a policy. The content of the latest revision again is that revision; the latest p_most_revisions are kept. An
-- account has at most as many revisions, former ones too, as documents.
create function put_policy(p_account bigint, p_name text, p_digest bytea, p_document text, p_description text,
  p_user bigint, p_most_policies integer, p_most_revisions integer, p_most_documents integer, p_most_bytes bigint,
  out outcome text, out revision integer)
language plpgsql as $$
declare
  latest record;
  first integer;
begin
  insert into policy_accounts (account_id) values (p_account) on conflict do nothing;
  select a.first_revision into first from policy_accounts a where a.account_id = p_account for update;
  select p.revision, p.digest into latest from policies p
    where p.account_id = p_account and p.name = p_name order by p.revision desc limit 1;
  if found and latest.digest = p_digest then
    outcome := 'unchanged'; revision := latest.revision;
    return;
  end if;
  if latest.revision is null
    and p_most_policies <= (select count(distinct p.name) from policies p where p.account_id = p_account) then
    outcome := 'too-many';
    return;
  end if;
  if policy_revisions_of(p_account) >= p_most_documents then
    perform forget_policy_documents(p_account);
    if policy_revisions_of(p_account) >= p_most_documents then
      outcome := 'no-room';
      return;
    end if;
  end if;
  if not keep_policy_document(p_account, p_digest, p_document, p_most_documents, p_most_bytes) then
    outcome := 'no-room';
    return;
  end if;
  outcome := 'saved';
  revision := coalesce(latest.revision + 1, first);
  insert into policies (account_id, name, revision, digest, description, user_id)
    values (p_account, p_name, revision, p_digest, p_description, p_user);
  perform release_policy(p_account, p_name, revision - p_most_revisions);
end $$;

-- False: there is no such policy.
create function delete_policy(p_account bigint, p_name text) returns boolean language plpgsql as $$
declare
  latest integer;
begin
  perform from policy_accounts a where a.account_id = p_account for update;
  select max(p.revision) into latest from policies p where p.account_id = p_account and p.name = p_name;
  if latest is null then return false; end if;
  perform release_policy(p_account, p_name, latest);
  update policy_accounts a set first_revision = greatest(a.first_revision, latest + 1) where a.account_id = p_account;
  return true;
end $$;

-- Findings of content checks, and rules of policies, that an account accepts until a time.
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
