/** Users of single sign-on: who they are at their issuer, made and linked at their first sign-in, and let go again. */
import type { Database } from './connection.ts';
import { query } from './query.ts';
import type { AccountFull, MostOfAccount, UserRecord } from './users.ts';

export interface Identity {
  issuer: string;
  subject: string;
}

export interface NewIdentityUser extends Identity, Pick<UserRecord, 'email' | 'firstName' | 'lastName'> {
  role: Exclude<UserRecord['role'], 'root'>;
  /** The user that a sub-user is made under; null for other roles. */
  parentId: number | null;
  permissions: readonly string[];
}

/** Null: nobody has signed in as this one. */
export const findIdentity = (database: Database, { issuer, subject }: Identity): Promise<number | null> =>
  database.valueOrNull<number>(query('find_identity')`
    select user_id from identities where issuer = ${issuer} and subject = ${subject}`);

/** Returns a text on refusal. Two first sign-ins at once: the address of the second one is taken. */
export async function makeIdentityUser(
  database: Database,
  user: NewIdentityUser,
  most: MostOfAccount,
): Promise<number | AccountFull | 'email-taken' | 'no-parent'> {
  const { parentId } = user;
  const row = await database.one<{ userId: number | null; full: AccountFull | null; hasParent: boolean }>(
    query('make_identity_user')`
      with parent as (
        select account_full(coalesce(root_id, id), ${most.subUsers}, ${most.tokens}) full_of from users
          where id = ${parentId}),
      made as (
        insert into users (email, first_name, last_name, role, status, parent_id, permissions)
          select ${user.email}, ${user.firstName}, ${user.lastName}, ${user.role}, 'active', ${parentId},
            ${user.permissions}
          where ${parentId}::bigint is null or exists (select from parent where full_of is null)
          on conflict (lower(email)) do nothing returning id),
      known as (
        insert into identities (issuer, subject, user_id) select ${user.issuer}, ${user.subject}, id from made)
      select (select id from made) "userId", (select full_of from parent) "full",
        exists (select from parent) "hasParent"`,
  );
  if (row.userId !== null) return row.userId;
  if (parentId !== null && !row.hasParent) return 'no-parent';
  return row.full ?? 'email-taken';
}

/**
 * Links the active account with this address, if no one else of the issuer has it: an address that was given to
 * another person must not open the account of the one before. Null: there is no such account.
 */
export const linkIdentity = (
  database: Database,
  { issuer, subject }: Identity,
  email: string,
): Promise<number | null> =>
  database.valueOrNull<number>(query('link_identity')`
    insert into identities (issuer, subject, user_id)
      select ${issuer}, ${subject}, u.id from users u where lower(u.email) = lower(${email}) and u.status = 'active'
        and not exists (select from identities i where i.user_id = u.id and i.issuer = ${issuer})
      on conflict do nothing returning user_id`);

/** A sign-in that is let in. A role that changes brings its permissions; the root user and sub-users keep theirs. */
export const seeIdentity = (
  database: Database,
  { issuer, subject, role, permissions }: Identity & Pick<NewIdentityUser, 'role' | 'permissions'>,
): Promise<void> =>
  database.run(query('see_identity')`
    with seen as (
      update identities set seen_at = now() where issuer = ${issuer} and subject = ${subject} returning user_id),
    who as (
      select u.id, u.role in ('admin', 'user') and ${role}::text in ('admin', 'user') and u.role <> ${role}::text other
        from seen join users u on u.id = seen.user_id)
    update users u set updated_at = now(), lapsed = false,
        status = case when u.lapsed then 'active' else u.status end,
        role = case when who.other then ${role}::text else u.role end,
        permissions = case when who.other then ${permissions}::text[] else u.permissions end,
        restrictions = case when who.other then '{}' else u.restrictions end
      from who where u.id = who.id and (u.lapsed or who.other)`);

/** Suspends the user, whose API tokens then stop working, and ends all sessions. Never the root user. */
export const lapseUser = (database: Database, userId: number): Promise<void> =>
  database.run(query('lapse_user')`
    with lapsed as (
        update users set status = 'suspended', lapsed = true, updated_at = now()
          where id = ${userId} and role <> 'root' and status = 'active')
      update sessions set ended_at = now() where user_id = ${userId} and ended_at is null`);

/** Suspends those who have not signed in for so many days. Returns who they are. */
export const lapseAbsent = (database: Database, days: number): Promise<number[]> =>
  database.column<number>(query('lapse_absent')`
    update users u set status = 'suspended', lapsed = true, updated_at = now()
      from (select user_id, max(seen_at) seen_at from identities group by user_id) last
      where u.id = last.user_id and u.role <> 'root' and u.status = 'active'
        and last.seen_at < now() - ${days}::integer * interval '1 day' returning u.id`);
