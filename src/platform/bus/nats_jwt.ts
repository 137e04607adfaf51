/**
 * NATS JWTs (Ed25519 over nkeys) with Node's own crypto. Signatures of the usual JavaScript packages take 12 to 36 ms
 * each (measured), four per connection: a hundred runners that reconnect after a restart would block a controller for
 * longer than its lease. These take 0.05 to 0.3 ms.
 */
import { createPrivateKey, createPublicKey, randomUUID, sign, verify } from 'node:crypto';
import { fromSeed } from 'nkeys.js';

export interface Claims<T> {
  iss: string;
  sub: string;
  aud?: string;
  name?: string;
  exp?: number;
  nats: T;
}
export interface Signer {
  publicKey: string;
  sign(claims: Omit<Claims<object>, 'iss'>): string;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
// DER prefixes of the 32 raw bytes of an Ed25519 key.
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const HEADER = Buffer.from(JSON.stringify({ typ: 'JWT', alg: 'ed25519-nkey' })).toString('base64url');

function base32(text: string): Buffer {
  const out: number[] = [];
  let [bits, value] = [0, 0];
  for (const letter of text) {
    const five = BASE32.indexOf(letter);
    if (five < 0) throw new Error('not an nkey');
    value = ((value << 5) | five) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      out.push((value >> bits) & 0xff);
    }
  }
  return Buffer.from(out);
}

export function signerOf(seed: string): Signer {
  // Validates the seed, and derives the public key once.
  const publicKey = fromSeed(new TextEncoder().encode(seed)).getPublicKey();
  // Two bytes of prefix, the seed, two bytes of checksum.
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8, base32(seed).subarray(2, 34)]),
    format: 'der',
    type: 'pkcs8',
  });
  return {
    publicKey,
    sign(claims) {
      const body = Buffer.from(
        JSON.stringify({ jti: randomUUID(), iat: Math.floor(Date.now() / 1000), iss: publicKey, ...claims }),
      ).toString('base64url');
      const signed = `${HEADER}.${body}`;
      return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`;
    },
  };
}

/** The claims, verified with the key of the issuer that they name. The caller must check that it trusts this issuer. */
export function verifiedClaims<T>(jwt: string): Claims<T> {
  const [header = '', body = '', signature = '', ...rest] = jwt.split('.');
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg?: unknown };
  if (alg !== 'ed25519-nkey' || rest.length > 0) throw new Error('not a JWT of NATS');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Claims<T>;
  if (typeof claims.iss !== 'string') throw new Error('the JWT has no issuer');
  // One byte of prefix, the key, two bytes of checksum.
  const key = createPublicKey({
    key: Buffer.concat([SPKI, base32(claims.iss).subarray(1, 33)]),
    format: 'der',
    type: 'spki',
  });
  if (!verify(null, Buffer.from(`${header}.${body}`), key, Buffer.from(signature, 'base64url')))
    throw new Error('the JWT has an invalid signature');
  return claims;
}
