/** The text of an API token: its format, and the hash that is stored. */
import { createHash } from 'node:crypto';

export const TOKEN_PATTERN = '[A-Za-z0-9]{64}';
const TOKEN = new RegExp(`^${TOKEN_PATTERN}$`);

export const isToken = (text: string): boolean => TOKEN.test(text);
export const tokenSha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
