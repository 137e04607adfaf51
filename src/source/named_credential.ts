/**
 * Credentials that an operator configures and requests refer to by name. Each is for one kind of store, and for the
 * buckets that it lists. Pure: who may use it, and what its secret is, is the controller's to know.
 */
import type { StoreKind, NamedCredential, WorkloadIdentity } from '../base/source_settings.ts';
import { climbs, decodeLoosely } from './address/s3.ts';
import { isKeyed, type Source } from './source.ts';

export const CREDENTIAL_NAME = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';

/** Keys of the Secret, by kind. */
export const SECRET_KEYS = {
  s3: ['accessKey', 'secretKey'],
  /** HMAC keys of Google Cloud Storage, which sign as S3 does. */
  gs: ['accessKey', 'secretKey'],
  /** A shared access signature. */
  az: ['sas'],
} as const;
/** What each kind needs of an identity. */
export const IDENTITY_KEYS = {
  s3: ['role'],
  gs: ['provider'],
  az: ['tenant', 'client'],
} as const satisfies Record<StoreKind, readonly (keyof WorkloadIdentity)[]>;

/** Keys of the Secret; or what an identity was granted: a key with `sessionToken`, or `bearer`. */
export type SecretOf = Readonly<Record<string, string>>;

/** The bucket (of az: account and container) and the object of an address. */
function placeIn({ scheme, url }: Source): { bucket: string; key: string } | undefined {
  const match = (scheme === 'az' ? /^az:\/\/([^/?#]+\/[^/?#]+)\/([^?#]*)/ : /^\w+:\/\/([^/?#]+)\/([^?#]*)/).exec(url);
  return match === null ? undefined : { bucket: decodeLoosely(match[1]!), key: decodeLoosely(match[2]!) };
}

/** A bearer token is bound to no path: a server that resolves such segments would give another bucket. */
export const leavesBucket = ({ url }: Source): boolean => climbs(url.split(/[?#]/)[0]!);

export const LEAVES_BUCKET =
  'is not accepted with an address that has . or .. segments or a backslash, in any encoding';

export function mayRead({ kind, accounts, buckets }: NamedCredential, account: number, source: Source): boolean {
  return (
    source.scheme === kind &&
    !isKeyed(source) &&
    (accounts.includes('*') || accounts.includes(account)) &&
    buckets.includes(placeIn(source)?.bucket ?? '')
  );
}

/** The source with the credential in it; undefined if the secret lacks a key. */
export function withCredential(
  source: Source,
  { kind, region }: NamedCredential,
  secret: SecretOf,
): Source | undefined {
  const place = placeIn(source);
  if (place === undefined) return undefined;
  // A query could hold a signature of its own, or change what the signature is for.
  const url = source.url.split('?')[0]!;
  if (secret['bearer'] !== undefined) {
    // Of az, the host is that of the account.
    const bucket = place.bucket.split('/').at(-1)!;
    return { ...source, url, s3: { bucket, key: place.key, bearer: secret['bearer'], style: 'path' } };
  }
  if (SECRET_KEYS[kind].some((key) => !secret[key])) return undefined;
  if (kind === 'az') return { ...source, url: `${url}?${secret['sas']!.replace(/^\?/, '')}` };
  return {
    ...source,
    url,
    s3: {
      ...place,
      accessKey: secret['accessKey']!,
      secret: secret['secretKey']!,
      ...(secret['sessionToken'] === undefined ? {} : { session: secret['sessionToken'] }),
      ...(kind === 'gs' ? { region: 'auto', style: 'path' as const } : region === undefined ? {} : { region }),
    },
  };
}
