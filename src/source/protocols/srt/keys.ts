/**
 * The keys of an encrypted SRT stream: created by the caller, wrapped with a key derived from the passphrase, renewed
 * by the sender.
 */
import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);
const WRAP_IV = Buffer.from('a6a6a6a6a6a6a6a6', 'hex');
const FIXED = 16;
const SALT_BYTES = 16;

/** By the flag in data packets: 1 even, 2 odd. */
export interface Keys {
  salt: Buffer;
  byFlag: Map<number, Buffer>;
}

/** Senders keep their salt when they renew a key. */
const MOST_SALTS = 8;

/** The key that wraps the others; undefined if a session has used too many salts. */
export type KeyOfSalt = (salt: Buffer, length: number) => Promise<Buffer> | undefined;

/**
 * Derivation for one session. It takes 2048 rounds, and a host can request one with each packet, so the result is
 * cached per salt.
 */
export function keysOf(passphrase: string): KeyOfSalt {
  const known = new Map<string, Promise<Buffer>>();
  return (salt, length) => {
    const name = `${length} ${salt.toString('hex')}`;
    if (!known.has(name)) {
      if (known.size >= MOST_SALTS) return undefined;
      known.set(name, derive(passphrase, salt.subarray(SALT_BYTES - 8), 2048, length, 'sha1'));
    }
    return known.get(name);
  };
}

const wrapName = (length: number): string => `id-aes${length * 8}-wrap`;

export async function makeKeys(keyOf: KeyOfSalt, length: 16 | 24 | 32): Promise<{ keys: Keys; message: Buffer }> {
  const salt = randomBytes(SALT_BYTES);
  const key = randomBytes(length);
  const cipher = createCipheriv(wrapName(length), (await keyOf(salt, length))!, WRAP_IV);
  const wrapped = Buffer.concat([cipher.update(key), cipher.final()]);
  const head = Buffer.from([0x12, 0x20, 0x29, 1, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, SALT_BYTES / 4, length / 4]);
  return { keys: { salt, byFlag: new Map([[1, key]]) }, message: Buffer.concat([head, salt, wrapped]) };
}

/** The keys in the peer's message; undefined if it is invalid or the passphrase does not unwrap it. */
export async function openKeys(keyOf: KeyOfSalt, message: Buffer): Promise<Keys | undefined> {
  if (
    message.length < FIXED + SALT_BYTES + 24 ||
    message[0] !== 0x12 ||
    message[8] !== 2 ||
    message[14] !== SALT_BYTES / 4
  )
    return undefined;
  const flags = message[3]! & 3;
  const length = message[15]! * 4;
  if (![16, 24, 32].includes(length)) return undefined;
  const salt = Buffer.from(message.subarray(FIXED, FIXED + SALT_BYTES));
  const wrapping = await keyOf(salt, length);
  if (wrapping === undefined) return undefined;
  const decipher = createDecipheriv(wrapName(length), wrapping, WRAP_IV);
  try {
    const wrapped = message.subarray(FIXED + SALT_BYTES, FIXED + SALT_BYTES + 8 + length * (flags === 3 ? 2 : 1));
    const plain = Buffer.concat([decipher.update(wrapped), decipher.final()]);
    const byFlag = new Map<number, Buffer>();
    if (flags === 3) byFlag.set(1, plain.subarray(0, length)).set(2, plain.subarray(length, 2 * length));
    else byFlag.set(flags, plain.subarray(0, length));
    return { salt, byFlag };
  } catch {
    return undefined;
  }
}

export function decryptPayload({ salt, byFlag }: Keys, flag: number, seq: number, payload: Buffer): Buffer | undefined {
  const key = byFlag.get(flag);
  if (key === undefined) return undefined;
  const iv = Buffer.alloc(16);
  iv.writeUInt32BE(seq, 10);
  for (let i = 0; i < 14; i++) iv[i]! ^= salt[i]!;
  return createDecipheriv(`aes-${key.length * 8}-ctr`, key, iv).update(payload);
}
