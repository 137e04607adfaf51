/** Sign-up, verification, password reset and sign-in links. Each is one statement, so each is atomic. */
import { createHash } from 'node:crypto';
import type { Database } from './connection.ts';
import type { NewMail } from './mails.ts';
import { named } from './named.ts';
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

const SIGN_UP = `
  with made as (
    insert into users (email, first_name, last_name, role, status, permissions)
      values (:email, :firstName, :lastName, 'user', 'pending', :permissions)
      on conflict (lower(email)) do nothing returning id, parent_id),
  who as (
    select id, true as open from made
    union all select id, status = 'pending' and parent_id is null from users
      where lower(email) = lower(:email) and not exists (select from made)),
  code as (
    insert into account_codes (id, user_id, purpose, expires_at, password_hash, first_name, last_name)
    select :codeId, id, 'verify', now() + :codeMs * interval '1 millisecond', :passwordHash, :firstName,
      :lastName from who where open
      on conflict do nothing)
  insert into mails (id, user_id, recipient, subject, sealed)
    select case when open then :verifyId::uuid else :knownId::uuid end, id, :email,
      case when open then :verifySubject else :knownSubject end,
      case when open then :verifySealed::bytea else :knownSealed::bytea end from who on conflict do nothing`;

/** Does the same work for a new address, an unverified one and an existing account, so timing reveals nothing. */
export async function signUp(database: Database, input: SignUp): Promise<void> {
  await database.rows({
    name: 'sign_up',
    ...named(SIGN_UP, {
      ...input,
      verifyId: input.verifyMail.id,
      verifySubject: input.verifyMail.subject,
      verifySealed: input.verifyMail.sealed,
      knownId: input.knownMail.id,
      knownSubject: input.knownMail.subject,
      knownSealed: input.knownMail.sealed,
    }),
  });
}

/** Uses up the code and the user's other ones, and ends every session. Null: the code is unknown, used or expired. */
const redeem = (
  database: Database,
  purpose: 'verify' | 'reset',
  { only = '', set }: { only?: string; set: string },
  values: [codeId: string, passwordHash: string | null],
): Promise<Redeemed | null> =>
  database.first<Redeemed>({
    name: `redeem_${purpose}`,
    text: `with code as (
        update account_codes set used_at = now()
          where id = $1 and purpose = '${purpose}' and used_at is null and expires_at > now() ${only}
            returning user_id, password_hash, first_name, last_name),
      others as (
        update account_codes c set used_at = now() from code
          where c.user_id = code.user_id and c.id <> $1 and c.used_at is null),
      ended as (update sessions s set ended_at = now() from code
        where s.user_id = code.user_id and s.ended_at is null)
      update users u set ${set}, updated_at = now()
        from code where u.id = code.user_id returning u.id "userId", coalesce(u.root_id, u.id) "rootId", u.email,
          u.status`,
    values,
  });

/** Verifying the mailbox activates a pending account. */
export const redeemVerify = (database: Database, codeId: string, passwordHash: string | null = null) =>
  redeem(
    database,
    'verify',
    {
      only: `and user_id in (select id from users where status = 'pending')`,
      set: `status = 'active', password_hash = coalesce($2, code.password_hash, u.password_hash),
        first_name = coalesce(code.first_name, u.first_name), last_name = coalesce(code.last_name, u.last_name)`,
    },
    [codeId, passwordHash],
  );

/**
 * Queues a reset mail. For an unknown address, and one of single sign-on, it stores a mail without a recipient, so all
 * cases cost the same.
 */
export async function askReset(
  database: Database,
  input: Pick<SignUp, 'email' | 'codeId' | 'codeMs'> & { mail: SignUp['knownMail'] },
): Promise<void> {
  await database.rows({
    name: 'ask_reset',
    text: `with who as (select u.id, u.email from users u
      where lower(u.email) = lower($1) and not ${BY_ISSUER}
        and (u.status = 'active' or (u.status = 'pending' and u.parent_id is not null))),
      code as (insert into account_codes (id, user_id, purpose, expires_at)
        select $2, id, 'reset', now() + $3 * interval '1 millisecond' from who on conflict do nothing)
      insert into mails (id, user_id, recipient, subject, sealed)
        select $4, who.id, coalesce(who.email, ''), $5, $6::bytea from (select 1) one left join who on true
          on conflict do nothing`,
    values: [input.email, input.codeId, input.codeMs, input.mail.id, input.mail.subject, input.mail.sealed],
  });
}

export async function addResetCode(database: Database, userId: number, codeId: string, codeMs: number): Promise<void> {
  await database.rows({
    name: 'add_reset_code',
    text: `insert into account_codes (id, user_id, purpose, expires_at)
      values ($2, $1, 'reset', now() + $3 * interval '1 millisecond') on conflict do nothing`,
    values: [userId, codeId, codeMs],
  });
}

/** Sets the new password. */
export const redeemReset = (database: Database, codeId: string, passwordHash: string) =>
  redeem(
    database,
    'reset',
    { set: `password_hash = $2, status = case when u.status = 'pending' then 'active' else u.status end` },
    [codeId, passwordHash],
  );

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
    await database.rows({ name, text });
}

/** For the first administrator, whose id is returned; null: there is none. */
export function addSignInLink(database: Database, code: string, codeMs: number): Promise<number | null> {
  return database.valueOrNull<number>({
    name: 'add_sign_in_link',
    text: `with admin as (
        select u.id from settings s join users u on u.id = (s.value #>> '{}')::bigint
          where s.key = 'admin.user'),
      made as (insert into account_codes (id, user_id, purpose, expires_at)
        select $1::uuid, id, 'sign-in', now() + $2 * interval '1 millisecond' from admin on conflict do nothing)
      select id from admin`,
    values: [linkId(code), codeMs],
  });
}

/** Of two callers at once, the second waits for the row and finds it used. */
export async function redeemSignInLink(database: Database, code: string): Promise<RedeemedLink> {
  const row = await database.first<{ user_id: number | null; expired: boolean | null }>({
    name: 'redeem_sign_in_link',
    text: `with redeemed as (
        update account_codes set used_at = now()
          where id = $1 and purpose = 'sign-in' and used_at is null and expires_at > now() returning user_id)
      select (select user_id from redeemed) user_id,
        (select used_at is null and expires_at <= now() from account_codes where id = $1 and purpose = 'sign-in')
          expired`,
    values: [linkId(code)],
  });
  if (typeof row?.user_id === 'number') return { userId: row.user_id };
  return { refused: typeof row?.expired !== 'boolean' ? 'unknown' : row.expired ? 'expired' : 'used' };
}
