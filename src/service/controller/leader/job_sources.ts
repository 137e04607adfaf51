/**
 * The sources of a job: what the API sealed (an address, or an address with what is sent along), and the credential that
 * it names. The secret of a credential is a mounted file: a rotated one is used at once. In its place, access is granted
 * to the controller's own identity.
 */
import { parseSource } from '../../../source/address/parse.ts';
import { isUploadPlace } from '../../../source/upload/place.ts';
import { uploadSource } from '../../../source/protocols/upload/upload.ts';
import { isHeaders, unfitFor, type SourceHeader } from '../../../source/headers.ts';
import type { Source } from '../../../source/source.ts';
import { Refusal } from './job.ts';
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

/** As sealed: a credential is named, and not resolved yet. */
export type SealedSource = Source & { credential?: string };

/** One source, or the two of a comparison. */
export type Sources = readonly [SealedSource, ...SealedSource[]];

const notValid = (): Refusal => new Refusal('InvalidRequest', 400, 'the sealed source is not valid');

export function readAddress(text: string, s3Hosts: readonly string[]): Source {
  try {
    return parseSource(text, { s3Hosts });
  } catch (error) {
    throw new Refusal('InvalidRequest', 400, (error as Error).message);
  }
}

function withHeaders(source: Source, headers: unknown): Source {
  if (headers === undefined) return source;
  if (!isHeaders(headers) || unfitFor(source, headers) !== undefined) throw notValid();
  return { ...source, headers: headers as SourceHeader[] };
}

/** An address alone is its text; with anything else it is JSON. */
export function readSealed(text: string, s3Hosts: readonly string[]): SealedSource {
  if (!text.startsWith('{')) return readAddress(text, s3Hosts);
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw notValid();
  }
  const { address, headers, credential, upload, name } = value;
  if (isUploadPlace(upload) && typeof name === 'string') return uploadSource(name, upload);
  if (typeof address !== 'string') throw notValid();
  const source = withHeaders(readAddress(address, s3Hosts), headers);
  return typeof credential === 'string' ? { ...source, credential } : source;
}

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
