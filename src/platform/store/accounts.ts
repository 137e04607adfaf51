/** Account records: users, their credentials, and the mails sent to them. */
import { accountCodeCalls } from './account_codes.ts';
import { apiTokenCalls } from './api_tokens.ts';
import { attemptCalls } from './attempts.ts';
import type { Database } from './connection.ts';
import { mailCalls } from './mails.ts';
import { sessionCalls } from './sessions.ts';
import { signingKeyCalls } from './signing_keys.ts';
import { userCalls } from './users.ts';

export const accountCalls = (database: Database) => ({
  ...userCalls(database),
  ...sessionCalls(database),
  ...signingKeyCalls(database),
  ...accountCodeCalls(database),
  ...mailCalls(database),
  ...attemptCalls(database),
  ...apiTokenCalls(database),
});
