/** Secrets that users handle: API tokens and webhook secrets. */
import { randomBytes, randomInt } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 64 characters, 381 bits. */
export const newTokenText = (): string =>
  Array.from({ length: 64 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

const PREFIX = 'whsec_';

/** In the format of Standard Webhooks: 32 bytes in base64 with a prefix. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** The key bytes that sign. */
export const webhookKey = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
