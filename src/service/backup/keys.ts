/** The installation's keys, as a backup holds them: without them much of the record cannot be read. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { jsonIn } from '../../base/json_in.ts';
import { BackupError } from './errors.ts';

/** By the names of the chart's `secrets`, with the keys that each must have. */
const NEEDED = {
  box: ['box.jwks'],
  sealPrivate: ['private.jwks'],
  sealPublic: ['public.jwks'],
  natsAuth: ['api.nk', 'controller.nk', 'issuer.nk'],
} as const;
/** Of an external NATS there is no more than a CA, and the administrator's may have been removed. */
const OPTIONAL = ['natsTls', 'admin'] as const;

export type KeyKind = keyof typeof NEEDED | (typeof OPTIONAL)[number];
const KEY_KINDS = [...Object.keys(NEEDED), ...OPTIONAL] as KeyKind[];

/** The content of each Secret. */
export type Keys = Partial<Record<KeyKind, Record<string, string>>>;

/** A folder per Secret, as the kubelet mounts them. Links that begin with two dots are the kubelet's own. */
export function readKeys(path: string): Keys {
  const keys: Keys = {};
  for (const kind of KEY_KINDS) {
    const folder = join(path, kind);
    if (!existsSync(folder)) continue;
    const names = readdirSync(folder).filter((name) => !name.startsWith('..') && statSync(join(folder, name)).isFile());
    if (names.length > 0)
      keys[kind] = Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  }
  return keys;
}

export function checkKeys(keys: Keys, whose: string): void {
  for (const [kind, names] of Object.entries(NEEDED) as [keyof typeof NEEDED, readonly string[]][])
    for (const name of names)
      if (!keys[kind]?.[name]) throw new BackupError('keys-missing', `${whose} lack the key ${name} of ${kind}`);
}

interface Jwk {
  kid?: string;
  k?: string;
}

const boxOf = (keys: Keys, whose: string): Jwk[] => {
  const set = (jsonIn(keys.box?.['box.jwks'] ?? '') ?? {}) as { keys?: unknown };
  if (Array.isArray(set.keys) && set.keys.length > 0) return set.keys as Jwk[];
  throw new BackupError('keys-missing', `${whose} have no box.jwks with keys`);
};

/** Tokens, webhook secrets and signing keys of the backup open with its own box keys alone. */
export function checkBox(installed: Keys, backup: Keys): void {
  const here = boxOf(installed, 'the Secrets of this installation');
  const missing = boxOf(backup, 'the keys of the backup').find(
    (one) => !here.some(({ kid, k }) => kid === one.kid && k === one.k),
  );
  if (missing)
    throw new BackupError(
      'keys-differ',
      `the Secret of the box lacks the key ${missing.kid ?? 'without a name'} of the backup: ` +
        'what was sealed with it could not be opened',
    );
}

/** The bytes of the box keys, the current one first. */
export const boxBytes = (keys: Keys): Buffer[] =>
  boxOf(keys, 'the Secrets of this installation')
    .map(({ k = '' }) => Buffer.from(k, 'base64url'))
    .toReversed();
