/**
 * Applies a credential that a request names. The secret is a mounted file: a rotated one is used at once. In its place,
 * access is granted to the controller's own identity.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IdentityError } from '../../../platform/identity/error.ts';
import type { NamedCredential } from '../../../base/source_settings.ts';
import type { Identities } from '../../../platform/identity/identities.ts';
import {
  LEAVES_BUCKET,
  leavesBucket,
  mayRead,
  SECRET_KEYS,
  withCredential,
  type SecretOf,
} from '../../../source/named_credential.ts';
import type { Source } from '../../../source/source.ts';
import { Refusal } from './job.ts';
import type { SealedSource, Sources } from './sealed_source.ts';

export interface CredentialSettings {
  credentials: readonly NamedCredential[];
  /** Has a folder for each credential with a Secret, with its keys. */
  folder: string;
  /** Access for those without a Secret. */
  identities: Identities;
}

/** The same for one that does not exist: which ones there are is not for every account to know. */
const notAllowed = (): Refusal =>
  new Refusal('SourceForbidden', 403, 'credential: is not available to this account for this source');

async function secretOf({ folder, identities }: CredentialSettings, credential: NamedCredential): Promise<SecretOf> {
  const { name, kind, identity } = credential;
  if (identity) return identities.secretOf(credential);
  const keys = await Promise.all(
    SECRET_KEYS[kind].map(async (key) => [key, (await readFile(join(folder, name, key), 'utf8')).trim()] as const),
  );
  return Object.fromEntries(keys);
}

async function resolved(settings: CredentialSettings, source: SealedSource, account: number): Promise<Source> {
  const { credential: name, ...plain } = source;
  if (name === undefined) return plain;
  if (leavesBucket(plain)) throw new Refusal('InvalidRequest', 400, `credential: ${LEAVES_BUCKET}`);
  const found = settings.credentials.find((one) => one.name === name);
  if (found === undefined || !mayRead(found, account, plain)) throw notAllowed();
  let secret: SecretOf;
  try {
    secret = await secretOf(settings, found);
  } catch (error) {
    if (error instanceof IdentityError)
      throw new Refusal('InternalError', 500, `credential: no access for "${name}": ${error.message}`);
    secret = {};
  }
  const read = withCredential(plain, found, secret);
  if (read === undefined)
    throw new Refusal('InternalError', 500, `credential: the Secret of "${name}" is not complete`);
  return read;
}

export async function resolveCredentials(
  settings: CredentialSettings,
  [first, ...others]: Sources,
  account: number,
): Promise<Sources> {
  return [
    await resolved(settings, first, account),
    ...(await Promise.all(others.map((other) => resolved(settings, other, account)))),
  ];
}
