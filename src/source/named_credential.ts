/**
 * Credentials that an operator configures and requests refer to by name. Each is for one kind of store, and for the
 * buckets that it lists. Pure: who may use it, and what its secret is, is the controller's to know.
 */
import { decodeLoosely } from './address/s3.ts';
import type { Source } from './source.ts';

export const CREDENTIAL_NAME = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';

/** Keys of the Secret, by kind. */
export const SECRET_KEYS = {
  s3: ['accessKey', 'secretKey'],
  /** HMAC keys of Google Cloud Storage, which sign as S3 does. */
  gs: ['accessKey', 'secretKey'],
  /** A shared access signature. */
  az: ['sas'],
} as const;
export type CredentialKind = keyof typeof SECRET_KEYS;

export interface NamedCredential {
  name: string;
  kind: CredentialKind;
  /** Ids of accounts (root users); `*`: all. */
  accounts: readonly (number | '*')[];
  /** Of az: `ACCOUNT/CONTAINER`. */
  buckets: readonly string[];
  /** Of s3, if it is not that of the installation. */
  region?: string;
}

export type SecretOf = Readonly<Record<string, string>>;

/** The bucket (of az: account and container) and the object of an address. */
function placeIn({ scheme, url }: Source): { bucket: string; key: string } | undefined {
  const match = (scheme === 'az' ? /^az:\/\/([^/?#]+\/[^/?#]+)\/([^?#]*)/ : /^\w+:\/\/([^/?#]+)\/([^?#]*)/).exec(url);
  return match === null ? undefined : { bucket: decodeLoosely(match[1]!), key: decodeLoosely(match[2]!) };
}

export function mayRead({ kind, accounts, buckets }: NamedCredential, account: number, source: Source): boolean {
  return (
    source.scheme === kind &&
    source.s3?.secret === undefined &&
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
  if (place === undefined || SECRET_KEYS[kind].some((key) => !secret[key])) return undefined;
  // A query could hold a signature of its own, or change what the signature is for.
  const url = source.url.split('?')[0]!;
  if (kind === 'az') return { ...source, url: `${url}?${secret['sas']!.replace(/^\?/, '')}` };
  return {
    ...source,
    url,
    s3: {
      ...place,
      accessKey: secret['accessKey']!,
      secret: secret['secretKey']!,
      ...(kind === 'gs' ? { region: 'auto', style: 'path' as const } : region === undefined ? {} : { region }),
    },
  };
}
