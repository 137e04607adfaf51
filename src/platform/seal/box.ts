/**
 * Stores secrets that must be shown again: sealed with the installation's symmetric key and bound to their purpose, so
 * that a secret sealed for one purpose does not open for another.
 */
import { base64url, CompactEncrypt, compactDecrypt, type JSONWebKeySet, type JWK } from 'jose';
import { SealError } from './seal.ts';

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';

const KEY_BYTES = 32;
/** Only the key bytes are used; other members of the JWK are ignored. */
const bytesOf = ({ k = '' }: JWK): Uint8Array => base64url.decode(k);

const isBoxKey = (one: JWK): one is JWK & { kid: string } =>
  one.kty === 'oct' && one.kid !== undefined && bytesOf(one).length === KEY_BYTES;

/** The bytes of every key, the oldest first, to derive keys for other purposes. */
export const boxKeyBytes = ({ keys }: JSONWebKeySet): Uint8Array[] => keys.filter(isBoxKey).map(bytesOf);

/** Rotation appends a key: the last one seals, earlier ones still open. */
export function boxKey(keys: JSONWebKeySet): JWK & { kid: string } {
  const key = keys.keys.findLast(isBoxKey);
  if (!key)
    throw new SealError(
      'seal-no-key',
      'the key set has no key for stored secrets: an oct key of 256 bits with a kid is needed',
    );
  return key;
}

/** `purpose` must be the same when opening, for example `token:17`. */
export async function sealInBox(text: string, purpose: string, keys: JSONWebKeySet): Promise<Buffer> {
  const key = boxKey(keys);
  const sealed = await new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, kid: key.kid, for: purpose })
    .encrypt(bytesOf(key));
  return Buffer.from(sealed, 'latin1');
}

export async function openBox(sealed: Uint8Array, purpose: string, keys: JSONWebKeySet): Promise<string> {
  const opened = await compactDecrypt(
    Buffer.from(sealed).toString('latin1'),
    ({ kid }) => {
      const key = keys.keys.find((one) => one.kty === 'oct' && one.kid === kid);
      if (!key) throw new SealError('seal-unknown-key', 'sealed with an unknown key');
      return bytesOf(key);
    },
    { keyManagementAlgorithms: [ALGORITHM], contentEncryptionAlgorithms: [ENCRYPTION] },
  ).catch((error: unknown) => {
    if (error instanceof SealError) throw error;
    throw new SealError('seal-unreadable', 'the sealed value cannot be opened', { cause: error });
  });
  if ((opened.protectedHeader as { for?: unknown }).for !== purpose)
    throw new SealError('seal-other-request', 'sealed for another purpose');
  return new TextDecoder().decode(opened.plaintext);
}
