-- A revision that requests on record were judged by, or that a caller pinned, stays readable when it is no longer among
-- the latest of its policy, and when its policy is deleted. Such revisions have a table of their own, so that the version
-- before sees no deleted policy.

-- Written at most once an hour. Null: never used.
alter table policies add column used_at timestamptz;

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

-- Uses before are of requests that are no longer on record. An hour less, because used_at may be an hour behind.
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

-- As in 0060, but used revisions are kept.
create or replace function release_policy(p_account bigint, p_name text, p_until integer) returns integer language plpgsql as $$
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

create or replace function forget_policy_documents(p_account bigint) returns integer language plpgsql as $$
declare
  gone integer;
begin
  delete from former_policies f
    where (p_account is null or f.account_id = p_account) and f.used_at < policies_used_since();
  delete from policy_documents d where (p_account is null or d.account_id = p_account) and d.used_at < now() - interval '1 hour'
    and not exists (select from policies p where p.account_id = d.account_id and p.digest = d.digest)
    and not exists (select from former_policies f where f.account_id = d.account_id and f.digest = d.digest);
  get diagnostics gone = row_count;
  return gone;
end $$;

create function policy_revisions_of(p_account bigint) returns bigint language sql stable as $$
  select (select count(*) from policies p where p.account_id = p_account)
    + (select count(*) from former_policies f where f.account_id = p_account)
$$;

-- As in 0060, and an account has at most as many revisions, former ones too, as documents.
create or replace function put_policy(p_account bigint, p_name text, p_digest bytea, p_document text, p_description text, p_user bigint,
  p_most_policies integer, p_most_revisions integer, p_most_documents integer, p_most_bytes bigint,
  out outcome text, out revision integer) language plpgsql as $$
declare
  latest record;
  first integer;
begin
  insert into policy_accounts (account_id) values (p_account) on conflict do nothing;
  select a.first_revision into first from policy_accounts a where a.account_id = p_account for update;
  select p.revision, p.digest into latest from policies p where p.account_id = p_account and p.name = p_name order by p.revision desc limit 1;
  if found and latest.digest = p_digest then
    outcome := 'unchanged'; revision := latest.revision;
    return;
  end if;
  if latest.revision is null and p_most_policies <= (select count(distinct p.name) from policies p where p.account_id = p_account) then
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
