/** The content of each Secret of the installation. Pure except for randomness; no access to the cluster. */
import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JSONWebKeySet } from 'jose';
import { createAccount, createUser } from 'nkeys.js';
import { newTokenText, randomText } from '../accounts/token_text.ts';
import { natsAccountConfig, natsServerConfig, type ServerKeys } from '../../platform/bus/server_config.ts';
import type { Secret } from '../../platform/kube/client.ts';

export type SecretData = Record<string, string>;

/** The chart's own names, under `secrets`. */
export const SECRET_NAMES = {
  natsTls: 'probeyard-nats-tls',
  natsAuth: 'probeyard-nats-auth',
  postgres: 'probeyard-postgres',
  postgresApi: 'probeyard-postgres-api',
  postgresController: 'probeyard-postgres-controller',
  sealPublic: 'probeyard-seal-public',
  sealPrivate: 'probeyard-seal-private',
  admin: 'probeyard-admin',
  box: 'probeyard-box',
} as const;

export const dataOf = ({ data = {} }: Secret): SecretData =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString('utf8')]),
  );

const seedText = (seed: Uint8Array): string => new TextDecoder().decode(seed);

/**
 * Static users of the API and controllers, the account key that signs runners, and the server's configuration for them.
 */
export function natsAuth(): SecretData {
  const api = createUser();
  const controller = createUser();
  const issuer = createAccount();
  const keys = { api: api.getPublicKey(), controller: controller.getPublicKey(), issuer: issuer.getPublicKey() };
  return {
    'api.nk': seedText(api.getSeed()),
    'controller.nk': seedText(controller.getSeed()),
    'issuer.nk': seedText(issuer.getSeed()),
    'api.pub': keys.api,
    'controller.pub': keys.controller,
    'issuer.pub': keys.issuer,
    ...natsConfigs(keys),
  };
}

/** For a server of our own, and for one that serves other accounts, too. */
function natsConfigs(keys: ServerKeys): SecretData {
  const { account, callout } = natsAccountConfig(keys);
  return { 'auth.conf': natsServerConfig(keys), 'account.conf': account, 'callout.conf': callout };
}

/**
 * A newer version may need other NATS permissions. They are derived from the keys, so they are written again at each
 * upgrade. Undefined: nothing has changed, or the keys belong to an external server.
 */
export function changedNatsConfigs(data: SecretData): SecretData | undefined {
  const { 'api.pub': api, 'controller.pub': controller, 'issuer.pub': issuer } = data;
  if (!api || !controller || !issuer) return undefined;
  const changed = Object.entries(natsConfigs({ api, controller, issuer })).filter(
    ([name, conf]) => data[name] !== conf,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** For the owner of the database, or for another role. */
export function postgres(host: string, username = 'probeyard', database = 'probeyard'): SecretData {
  const password = randomBytes(24).toString('base64url');
  const url = `postgres://${username}:${password}@${host}:5432/${database}`;
  return { username, password, database, url, 'direct-url': url };
}

export function openHalf(jwk: Record<string, unknown>): Record<string, unknown> {
  const { d: _, ...open } = jwk;
  return open;
}

/** The API seals sources with the public key; only controllers hold the private one. */
export async function sealKeys(): Promise<{ public: SecretData; private: SecretData }> {
  const { privateKey } = await generateKeyPair('ECDH-ES', { crv: 'X25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  const key = { ...jwk, kid: await calculateJwkThumbprint(jwk), use: 'enc', alg: 'ECDH-ES' };
  return {
    public: { 'public.jwks': JSON.stringify({ keys: [openHalf(key)] }) },
    private: { 'private.jwks': JSON.stringify({ keys: [key] }) },
  };
}

/** `box`: the token has a checksum by its key. */
export const admin = (email: string, box: SecretData): SecretData => ({
  email,
  password: randomText(24),
  token: newTokenText(JSON.parse(box['box.jwks'] ?? '{"keys":[]}') as JSONWebKeySet),
});

/** Seals stored secrets that must be shown again: tokens, webhook secrets, signing keys. */
export function boxKeys(): SecretData {
  const key = {
    kty: 'oct',
    k: randomBytes(32).toString('base64url'),
    kid: randomBytes(8).toString('hex'),
    use: 'enc',
    alg: 'A256GCM',
  };
  return { 'box.jwks': JSON.stringify({ keys: [key] }) };
}
