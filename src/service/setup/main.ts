/**
 * The role `setup`, a hook of the chart: creates missing Secrets of the installation. Existing ones are kept, whoever
 * created them.
 */
import { calculateJwkThumbprint, type JWK } from 'jose';
import { checkBox, type Keys } from '../backup/keys.ts';
import { keysOfBackup } from '../backup/restore.ts';
import { loadConfig } from '../../base/config.ts';
import {
  SECRETS,
  isKubeError,
  clientOfPod,
  type KubeClient,
  type KubeObject,
  type ResourceType,
  type Secret,
} from '../../platform/kube/client.ts';
import type { Meta } from '../../platform/kube/resource.ts';
import { makeLog } from '../../base/log.ts';
import { natsTls, renewed } from './certificates.ts';
import {
  admin,
  boxKeys,
  changedNatsConfigs,
  dataOf,
  natsAuth,
  openHalf,
  postgres,
  sealKeys,
  SECRET_NAMES,
  type SecretData,
} from './secrets.ts';

async function found<T extends KubeObject>(kube: KubeClient, type: ResourceType<T>, name: string) {
  try {
    return await kube.get(type, name);
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}

export const findSecret = (kube: KubeClient, name: string) => found(kube, SECRETS, name);

async function find(kube: KubeClient, name: string): Promise<SecretData | undefined> {
  const secret = await findSecret(kube, name);
  return secret && dataOf(secret);
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
  if (!claim || !(await found(kube, PERSISTENT_VOLUME_CLAIMS, claim))) return;
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

/** On the Secret with the box key: the administrator's Secret was made once, and is not made again. */
const ADMIN_MADE = 'probeyard.dev/admin-made';

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

export async function setup(kube: KubeClient, settings: SetupSettings) {
  const { natsHosts, postgresHost, postgresClaim = '', adminEmail, keys: given = {} } = settings;
  const names = { ...SECRET_NAMES, ...settings.names };
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
      names.natsTls,
      async () => {
        const { natsTls: before } = given;
        return before?.['ca.key'] ? { ...before, ...(await renewed(before, natsHosts)) } : natsTls(natsHosts);
      },
      (data) => renewed(data, natsHosts),
    );
  await ensure(
    names.natsAuth,
    () => (given.natsAuth ? { ...given.natsAuth, ...changedNatsConfigs(given.natsAuth) } : natsAuth()),
    changedNatsConfigs,
  );
  if (postgresHost) {
    await ensure(names.postgres, async () => {
      await refuseNewPassword(kube, names.postgres, postgresClaim);
      return postgres(postgresHost);
    });
    // The server applies these at its next start, so they may be created for existing data too.
    const { database = 'probeyard' } = (await find(kube, names.postgres)) ?? {};
    await ensure(names.postgresApi, () => postgres(postgresHost, 'probeyard_api', database));
    await ensure(names.postgresController, () => postgres(postgresHost, 'probeyard_controller', database));
  }
  await ensure(
    names.box,
    () => given.box ?? boxKeys(),
    (data) => {
      if (given.box) checkBox({ box: data }, given);
      return undefined;
    },
  );
  // An administrator who has signed in may remove theirs, and that of a backup may have been removed before it.
  const box = await findSecret(kube, names.box);
  const made = box?.metadata.annotations?.[ADMIN_MADE] !== undefined || (settings.keys !== undefined && !given.admin);
  if (!made || (await find(kube, names.admin)))
    await ensure(names.admin, () => given.admin ?? admin(adminEmail, box ? dataOf(box) : {}));
  await kube.mergePatch(SECRETS, names.box, { metadata: { annotations: { [ADMIN_MADE]: 'true' } } });

  // These two Secrets must match: the private one is created first, and the public one can always be derived from it.
  const keys = await sealKeys();
  await ensure(names.sealPrivate, () => given.sealPrivate ?? keys.private);
  const held = JSON.parse((await find(kube, names.sealPrivate))?.['private.jwks'] ?? '{"keys":[]}') as {
    keys: Record<string, unknown>[];
  };
  const halves = () => ({ 'public.jwks': JSON.stringify({ keys: held.keys.map(openHalf) }) });
  await ensure(names.sealPublic, halves, async (data) =>
    held.keys.length === 0 || (await fits(data['public.jwks'], held.keys)) ? undefined : halves(),
  );
  return report;
}

/** Once all are there the backup is not needed again, and may be gone. Those of the seal are made last. */
async function lacksKeys(kube: KubeClient, names: Record<string, string>): Promise<boolean> {
  for (const kind of ['box', 'natsAuth', 'sealPrivate']) if (!(await find(kube, names[kind] ?? ''))) return true;
  return false;
}

export async function run(): Promise<void> {
  const config = loadConfig('setup');
  const log = makeLog('setup', config);
  await using kube = clientOfPod(config);
  const wanted = config.restoreName !== '' && (await lacksKeys(kube, config.secretNames));
  const keys = wanted ? await keysOfBackup(config) : undefined;
  const report = await setup(kube, {
    ...(keys ? { keys } : {}),
    names: config.secretNames,
    natsHosts: config.natsHosts.split(',').filter(Boolean),
    postgresHost: config.postgresHost,
    postgresClaim: config.postgresClaim,
    adminEmail: config.adminEmail,
  });
  log.info(report, 'Secrets are ready');
}
