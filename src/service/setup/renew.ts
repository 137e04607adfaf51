/**
 * The role `renew`, a CronJob of the chart: renews NATS' server certificate in its Secret. It may read and patch only
 * that Secret.
 */
import { loadConfig } from '../../base/config.ts';
import { type KubeClient, clientOfPod, SECRETS, type Secret } from '../../platform/kube/client.ts';
import { makeLog } from '../../base/log.ts';
import { renewed } from './certificates.ts';
import { dataOf, SECRET_NAMES } from './secrets.ts';

/** Whether the certificate was renewed. A Secret without the CA's key is renewed by its creator. */
export async function renew(kube: KubeClient, name: string, hosts: string[], now = new Date()): Promise<boolean> {
  const secret = await kube.get<Secret>(SECRETS, name);
  const changes = await renewed(dataOf(secret), hosts, now);
  if (!changes) return false;
  // Guarded by resourceVersion: a certificate and a key of two renewals would not match.
  await kube.mergePatch(SECRETS, name, {
    metadata: { resourceVersion: secret.metadata.resourceVersion },
    stringData: changes,
  });
  return true;
}

export async function run(): Promise<void> {
  const config = loadConfig('setup');
  const log = makeLog('renew', config);
  await using kube = clientOfPod(config);
  const name = config.secretNames['natsTls'] ?? SECRET_NAMES.natsTls;
  const done = await renew(kube, name, config.natsHosts.split(','));
  log.info({ secret: name }, done ? 'certificate renewed' : 'certificate needs no renewal');
}
