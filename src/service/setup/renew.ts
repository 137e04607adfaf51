/**
 * The role `renew`, a CronJob of the chart: renews NATS' server certificate in its Secret. It may read and patch only
 * that Secret.
 */
import { loadConfig } from '../../base/config.ts';
import { type KubeClient, makeClient, SECRETS, type Secret } from '../../platform/kube/client.ts';
import { makeLog } from '../../base/log.ts';
import { renewed } from './certificates.ts';

/** Whether the certificate was renewed. A Secret without the CA's key is renewed by its creator. */
export async function renew(kube: KubeClient, name: string, hosts: string[], now = new Date()): Promise<boolean> {
  const { metadata, data = {} } = await kube.get<Secret>(SECRETS, name);
  const held = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString('utf8')]),
  );
  const changes = await renewed(held, hosts, now);
  if (!changes) return false;
  // Guarded by resourceVersion: a certificate and a key of two renewals would not match.
  await kube.mergePatch(SECRETS, name, {
    metadata: { resourceVersion: metadata.resourceVersion },
    stringData: changes,
  });
  return true;
}

export async function run(): Promise<void> {
  const config = loadConfig('setup');
  const log = makeLog('renew', config);
  const kube = await makeClient({ namespace: config.namespace });
  const name = config.secretNames['natsTls'] ?? 'probeyard-nats-tls';
  try {
    const done = await renew(kube, name, config.natsHosts.split(','));
    log.info({ secret: name }, done ? 'certificate renewed' : 'certificate needs no renewal');
  } finally {
    await kube.close();
  }
}
