-- Who a user is at an issuer of single sign-on. An e-mail address identifies nobody: it may be given to another person.
create table identities (
  issuer text not null check (length(issuer) <= 2048),
  subject text not null check (length(subject) <= 255),
  user_id bigint not null references users on delete cascade,
  created_at timestamptz not null default now(),
  -- The last sign-in.
  seen_at timestamptz not null default now(),
  primary key (issuer, subject)
);
create index identities_user on identities (user_id);

-- Suspended because no group of theirs gives access any more, or because they have not signed in for long: the next
-- sign-in that is let in makes them active again. What an administrator decides about the status ends that.
alter table users add column lapsed boolean not null default false;

create function forget_lapse() returns trigger language plpgsql as $$
begin
  new.lapsed := false;
  return new;
end $$;
create trigger users_forget_lapse before update of status on users for each row
  when (old.lapsed and new.lapsed) execute function forget_lapse();
