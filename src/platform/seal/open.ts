/** Opens sources sealed by seal.ts. Only controllers hold the private keys. */
import { compactDecrypt, type CompactJWEHeaderParameters, type JSONWebKeySet, type JWK } from 'jose';
import { SealError } from './errors.ts';
import { ALGORITHMS, ENCRYPTION, type Binding } from './seal.ts';

const OPTIONS = { keyManagementAlgorithms: ALGORITHMS, contentEncryptionAlgorithms: [ENCRYPTION] };

/** Throws if the set has no key to open with. */
export function openingKey(keys: JSONWebKeySet): JWK {
  const key = keys.keys.find((one) => one.kid !== undefined && one.d !== undefined);
  if (!key)
    throw new SealError(
      'seal-no-key',
      'the key set has no private key to open with: an EC or OKP key with d and a kid is needed',
    );
  return key;
}

export async function openSealed(sealed: string, binding: Binding, privateKeys: JSONWebKeySet): Promise<string> {
  const keyOf = (header: CompactJWEHeaderParameters) => {
    const key = header.kid === undefined ? undefined : privateKeys.keys.find((one) => one.kid === header.kid);
    if (!key) throw new SealError('seal-unknown-key', 'the source is sealed with an unknown key');
    return key;
  };
  const opened = await compactDecrypt(sealed, keyOf, OPTIONS).catch((error: unknown) => {
    if (error instanceof SealError) throw error;
    throw new SealError('seal-unreadable', 'the sealed source cannot be opened', { cause: error });
  });
  // The header is authenticated, so the binding comes from the sealer.
  const { rid, tid } = opened.protectedHeader as { rid?: unknown; tid?: unknown };
  if (rid !== binding.requestId || tid !== binding.tokenId) {
    throw new SealError('seal-other-request', 'the sealed source belongs to another request');
  }
  return new TextDecoder().decode(opened.plaintext);
}
