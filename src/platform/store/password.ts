/** Argon2id password hashes in PHC format. The parameters are stored with the hash, so they can be raised later. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

// OWASP's second recommendation (19 MiB, two passes): about 40 ms here, and small enough for an API pod of 256 MB
// during a burst of sign-ins.
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const TAG_BYTES = 32;

const derive = promisify(argon2);
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive('argon2id', {
    message: Buffer.from(password),
    nonce,
    parallelism: LANES,
    memory: MEMORY_KIB,
    passes: PASSES,
    tagLength: TAG_BYTES,
  });
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(nonce)}$${base64(tag)}`;
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, nonce, tag] = PHC.exec(stored) ?? [];
  if (nonce === undefined || tag === undefined) return false;
  const expected = Buffer.from(tag, 'base64');
  const found = await derive('argon2id', {
    message: Buffer.from(password),
    nonce: Buffer.from(nonce, 'base64'),
    parallelism: Number(parallelism),
    memory: Number(memory),
    passes: Number(passes),
    tagLength: expected.length,
  });
  return timingSafeEqual(found, expected);
}
