/**
 * The mail outbox: a mail is written together with the change it reports, claimed under a lease, and deleted once sent.
 */
import type { Database } from './connection.ts';

export interface NewMail {
  id: string;
  userId: number | null;
  recipient: string;
  subject: string;
  sealed: Buffer;
}
export interface DueMail extends Omit<NewMail, 'userId'> {
  attempts: number;
}

export async function addMail(database: Database, mail: NewMail): Promise<void> {
  await database.rows({
    name: 'add_mail',
    text: `insert into mails (id, user_id, recipient, subject, sealed) values ($1, $2, $3, $4, $5)
      on conflict do nothing`,
    values: [mail.id, mail.userId, mail.recipient, mail.subject, mail.sealed],
  });
}

/** Claimed exclusively until the lease expires. */
export function claimMails(database: Database, leaseMs: number, limit: number): Promise<DueMail[]> {
  return database.rows<DueMail>({
    name: 'claim_mails',
    text: `update mails set attempts = attempts + 1, next_at = now() + $1 * interval '1 millisecond'
      where id in (select id from mails where next_at <= now() order by next_at limit $2 for update skip locked)
      returning id, recipient, subject, sealed, attempts`,
    values: [leaseMs, limit],
  });
}

export async function mailDone(database: Database, id: string): Promise<void> {
  await database.rows({ name: 'mail_done', text: 'delete from mails where id = $1', values: [id] });
}

export async function mailLater(database: Database, id: string, afterMs: number): Promise<void> {
  await database.rows({
    name: 'mail_later',
    text: `update mails set next_at = now() + $2 * interval '1 millisecond' where id = $1`,
    values: [id, afterMs],
  });
}
