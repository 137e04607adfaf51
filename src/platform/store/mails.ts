/**
 * The mail outbox: a mail is written together with the change it reports, claimed under a lease, and deleted once sent.
 */
import type { Database } from './connection.ts';
import { query } from './query.ts';

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

export const addMail = (database: Database, mail: NewMail): Promise<void> =>
  database.run(query('add_mail')`
    insert into mails (id, user_id, recipient, subject, sealed)
      values (${mail.id}, ${mail.userId}, ${mail.recipient}, ${mail.subject}, ${mail.sealed}) on conflict do nothing`);

/** Claimed exclusively until the lease expires. */
export const claimMails = (database: Database, leaseMs: number, limit: number): Promise<DueMail[]> =>
  database.rows<DueMail>(query('claim_mails')`
    update mails set attempts = attempts + 1, next_at = now() + ${leaseMs} * interval '1 millisecond'
      where id in (select id from mails where next_at <= now() order by next_at limit ${limit} for update skip locked)
      returning id, recipient, subject, sealed, attempts`);

export const mailDone = (database: Database, id: string): Promise<void> =>
  database.run(query('mail_done')`delete from mails where id = ${id}`);

export const mailLater = (database: Database, id: string, afterMs: number): Promise<void> =>
  database.run(query('mail_later')`
    update mails set next_at = now() + ${afterMs} * interval '1 millisecond' where id = ${id}`);
