/**
 * The mails, in plain text. Links carry their code in the fragment, which browsers send to no server and which is
 * therefore never logged.
 */
export interface MailText {
  subject: string;
  text: string;
}

const mail = (subject: string, ...lines: string[]): MailText => ({ subject, text: `${lines.join('\n')}\n` });

/** How to use a code on a page of the console, and without one. */
function ways(publicUrl: string, path: string, code: string, endpoint: string, field: string): string[] {
  const call = `POST /frontend/api/v1/auth/${endpoint} with ${field}`;
  if (publicUrl !== '') return [`${publicUrl}/${path}#${code}`, '', `Without a browser: ${call}:`, '', code];
  return [
    `Open /app/${path} at the address of this Probeyard, and enter the code. Without a browser: ${call}. The code:`,
    '',
    code,
    '',
    'This mail has no link, because Probeyard does not know its own address: its operator sets api.publicUrl.',
  ];
}

export const verifyMail = (publicUrl: string, code: string): MailText =>
  mail(
    'Please confirm your address',
    'Somebody signed up to Probeyard with this address. If it was you, confirm it within a day:',
    '',
    ...ways(publicUrl, 'verify', code, 'verify', 'verify-token'),
    '',
    'If somebody else may have chosen the password, send your own with it as password: it replaces the one from ' +
      'the sign-up.',
    '',
    'If it was not you, nothing needs to be done.',
  );

export const knownMail = (publicUrl: string): MailText =>
  mail(
    'You already have an account',
    'Somebody signed up to Probeyard with this address, which already has an account. If it was you: sign in, or ' +
      'ask for a new password:',
    '',
    publicUrl === '' ? '/app/sign-in at the address of this Probeyard' : `${publicUrl}/app/sign-in`,
    '',
    'If it was not you, nothing needs to be done.',
  );

export const resetMail = (publicUrl: string, code: string): MailText =>
  mail(
    'A new password',
    "Somebody asked for a new password of this address's account. If it was you, choose one within an hour:",
    '',
    ...ways(publicUrl, 'reset', code, 'reset/confirm', 'reset-token and new-password'),
    '',
    'If it was not you, nothing needs to be done: the old one goes on.',
  );

export const inviteMail = (publicUrl: string, code: string, by: string): MailText =>
  mail(
    'An account was made for you',
    `${by} made an account on Probeyard for you. Choose its password within a week:`,
    '',
    ...ways(publicUrl, 'reset', code, 'reset/confirm', 'reset-token and new-password'),
  );
