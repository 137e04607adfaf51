/**
 * The role `setup`, a hook of the chart: creates missing Secrets of the installation. Existing ones are kept, whoever
 * created them.
 */
import { calculateJwkThumbprint, type JWK } from 'jose';
import { checkBox, type Keys } from '../backup/keys.ts';
import { keysOfBackup } from '../backup/restore.ts';
import { destinationOf, openerOf } from '../backup/settings.ts';
import { loadConfig } from '../../base/config.ts';
import {
  SECRETS,
  isKubeError,
  makeClient,
  type KubeClient,
  type ResourceType,
  type Secret,
} from '../../platform/kube/client.ts';
import type { Meta } from '../../platform/kube/resource.ts';
import { makeLog } from '../../base/log.ts';
import { natsTls, renewed } from './certificates.ts';
import { admin, boxKeys, changedNatsConfigs, natsAuth, postgres, sealKeys, type SecretData } from './secrets.ts';

const read = (secret: Secret): SecretData =>
  Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, value]) => [
      key,
      Buffer.from(String(value), 'base64').toString('utf8'),
    ]),
  );

async function find(kube: KubeClient, name: string): Promise<SecretData | undefined> {
  try {
    return read(await kube.get(SECRETS, name));
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** False if it was created by someone else meanwhile. */
async function make(kube: KubeClient, name: string, stringData: SecretData): Promise<boolean> {
  try {
    await kube.create(SECRETS, {
      metadata: {
        name,
        labels: { 'app.kubernetes.io/name': 'probeyard', 'app.kubernetes.io/managed-by': 'probeyard' },
      },
      type: 'Opaque',
      stringData,
    } as Secret);
    return true;
  } catch (error) {
    if (isKubeError(error, 'already-exists')) return false;
    throw error;
  }
}

export const PERSISTENT_VOLUME_CLAIMS: ResourceType<{ metadata: Meta; spec?: object }> = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
};

/** Existing data does not know a new password, so the database would be inaccessible after its next restart. */
async function refuseNewPassword(kube: KubeClient, name: string, claim: string): Promise<void> {
  if (!claim) return;
  try {
    await kube.get(PERSISTENT_VOLUME_CLAIMS, claim);
  } catch (error) {
    if (isKubeError(error, 'not-found')) return;
    throw error;
  }
  throw new Error(
    `the Secret ${name} is missing, but the claim ${claim} holds a database: create the Secret again ` +
      '(docs/operating/secrets.md, "Change secrets") or delete the claim',
  );
}

/** Whether each public key has its private key: the API must not seal with a key that no controller can open. */
async function fits(publicKeys: string | undefined, privateKeys: Record<string, unknown>[]): Promise<boolean> {
  try {
    const { keys } = JSON.parse(publicKeys ?? '') as { keys: JWK[] };
    const named = async (jwk: JWK): Promise<string> => `${jwk.kid} ${await calculateJwkThumbprint(jwk)}`;
    const known = new Set(await Promise.all(privateKeys.map((jwk) => named(jwk as JWK))));
    return keys.length > 0 && (await Promise.all(keys.map(named))).every((key) => known.has(key));
  } catch {
    return false;
  }
}

function openHalf(jwk: Record<string, unknown>): Record<string, unknown> {
  const { d: _, ...open } = jwk;
  return open;
}

export interface SetupSettings {
  names: Record<string, string>;
  /** Empty: NATS is external, with a given CA and keys. */
  natsHosts: string[];
  /** Empty: PostgreSQL is external, with a given Secret. */
  postgresHost: string;
  /** Volume claim of the bundled PostgreSQL; empty: its data is not persistent. */
  postgresClaim?: string;
  adminEmail: string;
  /** Of the backup that is restored: they take the place of new ones. */
  keys?: Keys;
}

export async function setup(
  kube: KubeClient,
  settings: SetupSettings,
): Promise<{ made: string[]; renewed: string[]; kept: string[] }> {
  const { natsHosts, postgresHost, postgresClaim = '', adminEmail, keys: given = {} } = settings;
  const nameOf = (key: string, fallback: string) => settings.names[key] ?? fallback;
  const report = { made: [] as string[], renewed: [] as string[], kept: [] as string[] };
  const ensure = async (
    name: string,
    content: () => SecretData | Promise<SecretData>,
    refresh: (data: SecretData) => SecretData | undefined | Promise<SecretData | undefined> = () => undefined,
  ) => {
    const there = await find(kube, name);
    if (!there) {
      ((await make(kube, name, await content())) ? report.made : report.kept).push(name);
      return;
    }
    const changes = await refresh(there);
    if (changes) await kube.mergePatch(SECRETS, name, { stringData: changes });
    (changes ? report.renewed : report.kept).push(name);
  };

  // An external NATS has its own CA: one created here would be trusted instead.
  if (natsHosts.length > 0)
    await ensure(
      nameOf('natsTls', 'probeyard-nats-tls'),
      async () => {
        const { natsTls: before } = given;
        return before?.['ca.key'] ? { ...before, ...(await renewed(before, natsHosts)) } : natsTls(natsHosts);
      },
      (data) => renewed(data, natsHosts),
    );
  await ensure(
    nameOf('natsAuth', 'probeyard-nats-auth'),
    () => (given.natsAuth ? { ...given.natsAuth, ...changedNatsConfigs(given.natsAuth) } : natsAuth()),
    changedNatsConfigs,
  );
  if (postgresHost) {
    const owner = nameOf('postgres', 'probeyard-postgres');
    await ensure(owner, async () => {
      await refuseNewPassword(kube, owner, postgresClaim);
      return postgres(postgresHost);
    });
    // The server applies these at its next start, so they may be created for existing data too.
    const { database = 'probeyard' } = (await find(kube, owner)) ?? {};
    await ensure(nameOf('postgresApi', 'probeyard-postgres-api'), () =>
      postgres(postgresHost, 'probeyard_api', database),
    );
    await ensure(nameOf('postgresController', 'probeyard-postgres-controller'), () =>
      postgres(postgresHost, 'probeyard_controller', database),
    );
  }
  const boxName = nameOf('box', 'probeyard-box');
  await ensure(
    boxName,
    () => given.box ?? boxKeys(),
    (data) => {
      if (given.box) checkBox({ box: data }, given);
      return undefined;
    },
  );
  await ensure(
    nameOf('admin', 'probeyard-admin'),
    async () => given.admin ?? admin(adminEmail, (await find(kube, boxName)) ?? {}),
  );

  // These two Secrets must match: the private one is created first, and the public one can always be derived from it.
  const [publicName, privateName] = [
    nameOf('sealPublic', 'probeyard-seal-public'),
    nameOf('sealPrivate', 'probeyard-seal-private'),
  ];
  const keys = await sealKeys();
  await ensure(privateName, () => given.sealPrivate ?? keys.private);
  const held = JSON.parse((await find(kube, privateName))?.['private.jwks'] ?? '{"keys":[]}') as {
    keys: Record<string, unknown>[];
  };
  const halves = () => ({ 'public.jwks': JSON.stringify({ keys: held.keys.map(openHalf) }) });
  await ensure(publicName, halves, async (data) =>
    held.keys.length === 0 || (await fits(data['public.jwks'], held.keys)) ? undefined : halves(),
  );
  return report;
}

/** Once all are there the backup is not needed again, and may be gone. */
async function lacksKeys(kube: KubeClient, names: Record<string, string>): Promise<boolean> {
  for (const kind of ['box', 'sealPrivate', 'natsAuth', 'admin'])
    if (!(await find(kube, names[kind] ?? ''))) return true;
  return false;
}

export async function run(): Promise<void> {
  const config = loadConfig('setup');
  const log = makeLog('setup', config);
  const kube = await makeClient({ namespace: config.namespace });
  try {
    const wanted = config.restoreName !== '' && (await lacksKeys(kube, config.secretNames));
    const keys = wanted ? await keysOfBackup(destinationOf(config), config.restoreName, openerOf(config)) : undefined;
    const report = await setup(kube, {
      ...(keys ? { keys } : {}),
      names: config.secretNames,
      natsHosts: config.natsHosts.split(',').filter(Boolean),
      postgresHost: config.postgresHost,
      postgresClaim: config.postgresClaim,
      adminEmail: config.adminEmail,
    });
    log.info(report, 'Secrets are ready');
  } finally {
    await kube.close();
  }
}
