/**
 * Sends the mails of the outbox, on every replica. Each mail is claimed under a lease, and a failed one is retried for
 * a day.
 */
import { createTransport, type Transporter } from 'nodemailer';
import type { Logger } from '../../base/log.ts';
import { pauseAfter } from '../../base/retry.ts';
import { Rounds } from '../../base/rounds.ts';
import type { Store } from '../../platform/store/store.ts';
import type { DueMail } from '../../platform/store/mails.ts';
import type { Box } from './box.ts';
import type { MailSettings } from './settings.ts';

const EVERY_MS = 15_000;
const SEND_MS = 20_000;
const LEASE_MS = 3 * SEND_MS;
/** 5 s, 10 s, 20 s ... at most half an hour apart: about a day in total. */
const PAUSES = { first: 6_000, longest: 2_200_000, jitter: 0.4 };
const ATTEMPTS = 55;

const transportOf = (settings: MailSettings): Transporter =>
  createTransport({
    host: settings.host,
    port: settings.port,
    secure: settings.tls === 'implicit',
    requireTLS: settings.tls === 'starttls',
    ignoreTLS: settings.tls === 'none',
    connectionTimeout: SEND_MS,
    greetingTimeout: SEND_MS,
    socketTimeout: SEND_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    // A server on this machine or in this cluster may use a self-signed certificate. Unverified TLS is still better
    // than none.
    tls: { rejectUnauthorized: settings.tls !== 'opportunistic', ...(settings.ca ? { ca: settings.ca } : {}) },
    ...(settings.user === '' ? {} : { auth: { user: settings.user, pass: settings.password } }),
  });

interface MailerParts {
  store: Pick<Store, 'claimMails' | 'mailDone' | 'mailLater'>;
  box: Box;
  settings: MailSettings;
  log: Logger;
}

export function startMailer({ store, box, settings, log }: MailerParts) {
  const transport = transportOf(settings);

  async function send(mail: DueMail): Promise<void> {
    // Requested for an address without an account: it costs the same, and is sent to nobody.
    if (mail.recipient === '') return store.mailDone(mail.id);
    try {
      const text = await box.open(mail.sealed, 'mail', mail.id);
      await transport.sendMail({
        from: settings.from,
        to: { name: '', address: mail.recipient },
        subject: mail.subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
    } catch (error) {
      const { code, responseCode } = error as { code?: string; responseCode?: number };
      // The server's message may repeat the address, so only its code is logged.
      log.warn({ mail: mail.id, attempts: mail.attempts, code, responseCode }, 'cannot send a mail');
      if (mail.attempts >= ATTEMPTS) return store.mailDone(mail.id);
      return store.mailLater(mail.id, pauseAfter(mail.attempts, PAUSES));
    }
    await store.mailDone(mail.id);
  }

  /** Returns the time until the next: there may be more. */
  async function sendSome(): Promise<number> {
    const mails = await store.claimMails(LEASE_MS, 10);
    await Promise.all(mails.map(send));
    return mails.length > 0 ? 0 : EVERY_MS;
  }

  const rounds = new Rounds({
    round: sendSome,
    failed: (error) => log.warn({ err: error }, 'cannot read the mail outbox'),
    restMs: EVERY_MS,
  });

  return {
    wake: () => rounds.again(),
    async stop(): Promise<void> {
      await rounds.stop();
      transport.close();
    },
  };
}
