/**
 * Secrets that users handle: API tokens and webhook secrets. A token is `probeyard`, 29 random characters, the name of
 * a key and a checksum by that key, so that an invented token is recognised without Postgres. Earlier tokens, and those
 * that an operator chooses, are any 64 letters and digits.
 */
import { createHmac, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { boxKeyBytes } from '../../platform/seal/box.ts';
import { SealError } from '../../platform/seal/seal.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
export const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** What secret scanners look for. */
const MARK = 'probeyard';
/** 172 bits. */
const RANDOM = 29;
/**
 * Tells the keys of a set apart. A replica that has not read a new key yet finds no key of this name, and does not take
 * the token for an invented one.
 */
const KEY_NAME = 4;
/** 130 bits. */
const CHECKSUM = 22;
const SIGNED = MARK.length + RANDOM + KEY_NAME;

interface TokenKey {
  name: string;
  secret: Buffer;
}

const lettersOf = (bytes: Buffer): string => Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join('');

function tokenKeyOf(boxKey: Uint8Array): TokenKey {
  const derived = Buffer.from(hkdfSync('sha256', boxKey, '', 'probeyard API token', 32 + KEY_NAME));
  return { secret: derived.subarray(0, 32), name: lettersOf(derived.subarray(32)) };
}

/** The key set stays the same object until its file changes. */
const derived = new WeakMap<JSONWebKeySet, TokenKey[]>();
function tokenKeys(boxKeys: JSONWebKeySet): TokenKey[] {
  let keys = derived.get(boxKeys);
  if (!keys) derived.set(boxKeys, (keys = boxKeyBytes(boxKeys).map(tokenKeyOf)));
  return keys;
}

const checksumOf = (signed: string, { secret }: TokenKey): string =>
  lettersOf(createHmac('sha256', secret).update(signed).digest().subarray(0, CHECKSUM));

/** 64 letters and digits. The newest key makes the checksum. */
export function newTokenText(boxKeys: JSONWebKeySet): string {
  const key = tokenKeys(boxKeys).at(-1);
  if (!key) throw new SealError('seal-no-key', 'the key set has no key for the checksums of API tokens');
  const signed = `${MARK}${randomText(RANDOM)}${key.name}`;
  return signed + checksumOf(signed, key);
}

/** `none`: a token without a checksum, or by a key that is not in the set. It may be valid. */
export type Checksum = 'right' | 'wrong' | 'none';

export function tokenChecksum(token: string, boxKeys: JSONWebKeySet): Checksum {
  if (!token.startsWith(MARK)) return 'none';
  const signed = token.slice(0, SIGNED);
  const name = signed.slice(-KEY_NAME);
  const keys = tokenKeys(boxKeys).filter((key) => key.name === name);
  if (keys.length === 0) return 'none';
  const given = Buffer.from(token.slice(SIGNED));
  const right = keys.some((key) => {
    const wanted = Buffer.from(checksumOf(signed, key));
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  return right ? 'right' : 'wrong';
}

const PREFIX = 'whsec_';

/** In the format of Standard Webhooks: 32 bytes in base64 with a prefix. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** The key bytes that sign. */
export const webhookKey = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
