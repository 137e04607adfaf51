/**
 * The mails, in plain text. Links carry their code in the fragment, which browsers send to no server and which is
 * therefore never logged.
 */
export interface MailText {
  subject: string;
  text: string;
}

const lines = (...parts: (string | null)[]): string => `${parts.filter((part) => part !== null).join('\n')}\n`;
const link = (publicUrl: string, path: string, code: string): string | null =>
  publicUrl === '' ? null : `${publicUrl}/${path}#${code}`;
const orHow = (publicUrl: string, path: string, code: string, endpoint: string, field: string): string[] => {
  const address = link(publicUrl, path, code);
  return [
    ...(address === null ? [] : [address, '']),
    `Without a browser: POST /frontend/api/v1/auth/${endpoint} with ${field}:`,
    '',
    code,
  ];
};

export const verifyMail = (publicUrl: string, code: string): MailText => ({
  subject: 'Please confirm your address',
  text: lines(
    'Somebody signed up to Probeyard with this address. If it was you, confirm it within a day:',
    '',
    ...orHow(publicUrl, 'verify', code, 'verify', 'verify-token'),
    '',
    'If somebody else may have chosen the password, send your own with it as password: it replaces the one from ' +
      'the sign-up.',
    '',
    'If it was not you, nothing needs to be done.',
  ),
});

export const knownMail = (publicUrl: string): MailText => ({
  subject: 'You already have an account',
  text: lines(
    'Somebody signed up to Probeyard with this address, which already has an account. If it was you: sign in, or ' +
      'ask for a new password.',
    publicUrl === '' ? null : `\n${publicUrl}/`,
    '',
    'If it was not you, nothing needs to be done.',
  ),
});

export const resetMail = (publicUrl: string, code: string): MailText => ({
  subject: 'A new password',
  text: lines(
    "Somebody asked for a new password of this address's account. If it was you, choose one within an hour:",
    '',
    ...orHow(publicUrl, 'reset', code, 'reset/confirm', 'reset-token and new-password'),
    '',
    'If it was not you, nothing needs to be done: the old one goes on.',
  ),
});

export const inviteMail = (publicUrl: string, code: string, by: string): MailText => ({
  subject: 'An account was made for you',
  text: lines(
    `${by} made an account on Probeyard for you. Choose its password within a week:`,
    '',
    ...orHow(publicUrl, 'reset', code, 'reset/confirm', 'reset-token and new-password'),
  ),
});
