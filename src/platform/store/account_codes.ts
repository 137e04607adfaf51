/** Sign-up, verification, password reset and sign-in links. Each is one statement, so each is atomic. */
import { createHash } from 'node:crypto';
import type { Sql } from 'sql-template-tag';
import type { Database } from './connection.ts';
import type { NewMail } from './mails.ts';
import { empty, query, raw, sql } from './query.ts';
import type { TokenRecord } from './records.ts';
import { BY_ISSUER } from './users.ts';

export interface SignUp {
  email: string;
  passwordHash: string;
  firstName: string;
  lastName: string;
  permissions: readonly string[];
  codeId: string;
  codeMs: number;
  /** Exactly one of the two mails is stored. The caller cannot tell which, so a response does not reveal an account. */
  verifyMail: Omit<NewMail, 'userId'>;
  knownMail: Omit<NewMail, 'userId'>;
}

export interface Redeemed {
  userId: number;
  rootId: number;
  email: string;
  status: TokenRecord['userStatus'];
}

export type RedeemedLink = { userId: number } | { refused: 'unknown' | 'used' | 'expired' };

/** 128 bits of the hash: what the table holds signs nobody in. */
const linkId = (code: string): string => createHash('sha256').update(code).digest('hex').slice(0, 32);

/** Does the same work for a new address, an unverified one and an existing account, so timing reveals nothing. */
export function signUp(database: Database, input: SignUp): Promise<void> {
  const { email, firstName, lastName, codeId, codeMs, verifyMail, knownMail } = input;
  return database.run(query('sign_up')`
    with made as (
      insert into users (email, first_name, last_name, role, status, permissions)
        values (${email}, ${firstName}, ${lastName}, 'user', 'pending', ${input.permissions})
        on conflict (lower(email)) do nothing returning id, parent_id),
    who as (
      select id, true as open from made
      union all select id, status = 'pending' and parent_id is null from users
        where lower(email) = lower(${email}) and not exists (select from made)),
    code as (
      insert into account_codes (id, user_id, purpose, expires_at, password_hash, first_name, last_name)
      select ${codeId}, id, 'verify', now() + ${codeMs} * interval '1 millisecond', ${input.passwordHash}, ${firstName},
        ${lastName} from who where open
        on conflict do nothing)
    insert into mails (id, user_id, recipient, subject, sealed)
      select case when open then ${verifyMail.id}::uuid else ${knownMail.id}::uuid end, id, ${email},
        case when open then ${verifyMail.subject} else ${knownMail.subject} end,
        case when open then ${verifyMail.sealed}::bytea else ${knownMail.sealed}::bytea end
        from who on conflict do nothing`);
}

/** Uses up the code and the user's other ones, and ends every session. Null: the code is unknown, used or expired. */
const redeem = (
  database: Database,
  codeId: string,
  purpose: 'verify' | 'reset',
  { only = empty, set }: { only?: Sql; set: Sql },
): Promise<Redeemed | null> =>
  database.first<Redeemed>(query(`redeem_${purpose}`)`
    with code as (
      update account_codes set used_at = now()
        where id = ${codeId} and purpose = ${raw(`'${purpose}'`)} and used_at is null and expires_at > now() ${only}
          returning user_id, password_hash, first_name, last_name),
    others as (
      update account_codes c set used_at = now() from code
        where c.user_id = code.user_id and c.id <> ${codeId} and c.used_at is null),
    ended as (update sessions s set ended_at = now() from code
      where s.user_id = code.user_id and s.ended_at is null)
    update users u set ${set}, updated_at = now()
      from code where u.id = code.user_id returning u.id "userId", coalesce(u.root_id, u.id) "rootId", u.email,
        u.status`);

/** Verifying the mailbox activates a pending account. */
export const redeemVerify = (database: Database, codeId: string, passwordHash: string | null = null) =>
  redeem(database, codeId, 'verify', {
    only: sql`and user_id in (select id from users where status = 'pending')`,
    set: sql`
      status = 'active', password_hash = coalesce(${passwordHash}, code.password_hash, u.password_hash),
        first_name = coalesce(code.first_name, u.first_name), last_name = coalesce(code.last_name, u.last_name)`,
  });

/**
 * Queues a reset mail. For an unknown address, and one of single sign-on, it stores a mail without a recipient, so all
 * cases cost the same.
 */
export const askReset = (
  database: Database,
  { email, codeId, codeMs, mail }: Pick<SignUp, 'email' | 'codeId' | 'codeMs'> & { mail: SignUp['knownMail'] },
): Promise<void> =>
  database.run(query('ask_reset')`
    with who as (select u.id, u.email from users u
      where lower(u.email) = lower(${email}) and not ${raw(BY_ISSUER)}
        and (u.status = 'active' or (u.status = 'pending' and u.parent_id is not null))),
    code as (insert into account_codes (id, user_id, purpose, expires_at)
      select ${codeId}, id, 'reset', now() + ${codeMs} * interval '1 millisecond' from who on conflict do nothing)
    insert into mails (id, user_id, recipient, subject, sealed)
      select ${mail.id}, who.id, coalesce(who.email, ''), ${mail.subject}, ${mail.sealed}::bytea
        from (select 1) one left join who on true on conflict do nothing`);

export const addResetCode = (database: Database, userId: number, codeId: string, codeMs: number): Promise<void> =>
  database.run(query('add_reset_code')`
    insert into account_codes (id, user_id, purpose, expires_at)
      values (${codeId}, ${userId}, 'reset', now() + ${codeMs} * interval '1 millisecond') on conflict do nothing`);

/** Sets the new password. */
export const redeemReset = (database: Database, codeId: string, passwordHash: string) =>
  redeem(database, codeId, 'reset', {
    set: sql`
      password_hash = ${passwordHash},
        status = case when u.status = 'pending' then 'active' else u.status end`,
  });

/** Deletes expired rows, and accounts that were not verified within a week. */
export async function forgetAccountRemains(database: Database): Promise<void> {
  for (const [name, text] of Object.entries({
    forget_codes: `delete from account_codes where expires_at < now() - interval '7 days'`,
    forget_sessions: `delete from sessions where least(expires_at, ended_at) < now() - interval '30 days'`,
    forget_report_links: 'delete from report_links where expires_at < now()',
    forget_signing_keys: 'delete from signing_keys where verifies_until < now()',
    forget_attempts: `delete from attempts where tat < now() - interval '1 hour'`,
    forget_unverified: `delete from users u
      where status = 'pending' and parent_id is null and role = 'user' and created_at < now() - interval '7 days'
      and not exists (select from account_codes c where c.user_id = u.id and c.expires_at > now())
        and not exists (select from tokens t where t.user_id = u.id)
      and not exists (select from users s where s.parent_id = u.id)`,
  }))
    await database.run({ name, text });
}

/** For the first administrator, whose id is returned; null: there is none. */
export const addSignInLink = (database: Database, code: string, codeMs: number): Promise<number | null> =>
  database.valueOrNull<number>(query('add_sign_in_link')`
    with admin as (
      select u.id from settings s join users u on u.id = (s.value #>> '{}')::bigint
        where s.key = 'admin.user'),
    made as (insert into account_codes (id, user_id, purpose, expires_at)
      select ${linkId(code)}::uuid, id, 'sign-in', now() + ${codeMs} * interval '1 millisecond' from admin
        on conflict do nothing)
    select id from admin`);

/** Of two callers at once, the second waits for the row and finds it used. */
export async function redeemSignInLink(database: Database, code: string): Promise<RedeemedLink> {
  const id = linkId(code);
  const row = await database.first<{ user_id: number | null; expired: boolean | null }>(query('redeem_sign_in_link')`
    with redeemed as (
      update account_codes set used_at = now()
        where id = ${id} and purpose = 'sign-in' and used_at is null and expires_at > now() returning user_id)
    select (select user_id from redeemed) user_id,
      (select used_at is null and expires_at <= now() from account_codes where id = ${id} and purpose = 'sign-in')
        expired`);
  if (typeof row?.user_id === 'number') return { userId: row.user_id };
  return { refused: typeof row?.expired !== 'boolean' ? 'unknown' : row.expired ? 'expired' : 'used' };
}
