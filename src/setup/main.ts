/** The role `setup`, a hook of the chart: makes the installation's Secrets that are not there. What is there is kept, whoever made it. */
import { loadConfig } from '../config.ts';
import { SECRETS, isKubeError, makeClient, type KubeClient, type Secret } from '../kube/client.ts';
import { makeLog } from '../log.ts';
import { natsTls, renewed } from './certificates.ts';
import { admin, boxKeys, natsAuth, natsAuthConf, postgres, sealKeys, type SecretData } from './secrets.ts';

const read = (secret: Secret): SecretData => Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString('utf8')]));

async function find(kube: KubeClient, name: string): Promise<SecretData | undefined> {
  try {
    return read(await kube.get(SECRETS, name));
  } catch (error) {
    if (isKubeError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** False where somebody else made it in the meantime. */
async function make(kube: KubeClient, name: string, stringData: SecretData): Promise<boolean> {
  try {
    await kube.create(SECRETS, { metadata: { name, labels: { 'app.kubernetes.io/name': 'probeyard', 'app.kubernetes.io/managed-by': 'probeyard' } }, type: 'Opaque', stringData } as Secret);
    return true;
  } catch (error) {
    if (isKubeError(error, 'already-exists')) return false;
    throw error;
  }
}

function openHalf(jwk: Record<string, unknown>): Record<string, unknown> {
  const { d: _, ...open } = jwk;
  return open;
}

export async function setup(kube: KubeClient, settings: { names: Record<string, string>; natsHosts: string[]; postgresHost: string; adminEmail: string }): Promise<{ made: string[]; renewed: string[]; kept: string[] }> {
  const { natsHosts, postgresHost, adminEmail } = settings;
  const nameOf = (key: string, fallback: string) => settings.names[key] ?? fallback;
  const report = { made: [] as string[], renewed: [] as string[], kept: [] as string[] };
  const ensure = async (name: string, content: () => SecretData | Promise<SecretData>, refresh: (data: SecretData) => SecretData | undefined | Promise<SecretData | undefined> = () => undefined) => {
    const there = await find(kube, name);
    if (!there) {
      (await make(kube, name, await content()) ? report.made : report.kept).push(name);
      return;
    }
    const changes = await refresh(there);
    if (changes) await kube.mergePatch(SECRETS, name, { stringData: changes });
    (changes ? report.renewed : report.kept).push(name);
  };

  await ensure(nameOf('natsTls', 'probeyard-nats-tls'), () => natsTls(natsHosts), (data) => renewed(data, natsHosts));
  await ensure(nameOf('natsAuth', 'probeyard-nats-auth'), natsAuth, (data) => {
    // A given Secret without the public keys has a server of its own.
    if (!data['api.pub'] || !data['controller.pub'] || !data['issuer.pub']) return undefined;
    const conf = natsAuthConf(data);
    return conf === data['auth.conf'] ? undefined : { 'auth.conf': conf };
  });
  await ensure(nameOf('postgres', 'probeyard-postgres'), () => postgres(postgresHost));
  await ensure(nameOf('admin', 'probeyard-admin'), () => admin(adminEmail));
  await ensure(nameOf('box', 'probeyard-box'), boxKeys);

  // Two Secrets that only fit together: the private one is made first, and the public one can always be made from it.
  const [publicName, privateName] = [nameOf('sealPublic', 'probeyard-seal-public'), nameOf('sealPrivate', 'probeyard-seal-private')];
  const keys = await sealKeys();
  await ensure(privateName, () => keys.private);
  const held = JSON.parse((await find(kube, privateName))?.['private.jwks'] ?? '{"keys":[]}') as { keys: Record<string, unknown>[] };
  await ensure(publicName, () => ({ 'public.jwks': JSON.stringify({ keys: held.keys.map(openHalf) }) }));
  return report;
}

export async function run(): Promise<void> {
  const config = loadConfig('setup');
  const log = makeLog('setup', config);
  const kube = await makeClient({ namespace: config.namespace });
  try {
    const report = await setup(kube, { names: config.secretNames, natsHosts: config.natsHosts.split(','), postgresHost: config.postgresHost, adminEmail: config.adminEmail });
    log.info(report, 'the Secrets are there');
  } finally {
    await kube.close();
  }
}
