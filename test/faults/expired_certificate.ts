/** The certificate of NATS, expired, as after a year in which nothing renewed it. */
import { X509Certificate } from 'node:crypto';
import { presentedCertificate } from '../../src/platform/bus/certificate.ts';
import { SECRETS, type Secret } from '../../src/platform/kube/client.ts';
import { issuedBy } from '../../src/service/setup/certificates.ts';
import { SECRET_NAMES } from '../../src/service/setup/secrets.ts';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { natsWiped } from './injections.ts';

const LONG_AGO_MS = 400 * 86_400_000;
const RENEWAL = 'test-renewal';

/** NATS is restarted with it, so that nothing is connected any more. */
export async function expireCertificate(c: Cluster): Promise<void> {
  const { data = {} } = await c.kube.get<Secret>(SECRETS, SECRET_NAMES.natsTls, { namespace: NAMESPACE });
  const held = (key: string) => Buffer.from(String(data[key] ?? ''), 'base64').toString();
  const hosts = new X509Certificate(held('tls.crt'))
    .subjectAltName!.split(', ')
    .map((name) => name.replace('DNS:', ''));
  const stringData = await issuedBy(held('ca.crt'), held('ca.key'), hosts, new Date(Date.now() - LONG_AGO_MS));
  await c.kube.mergePatch(SECRETS, SECRET_NAMES.natsTls, { stringData }, { namespace: NAMESPACE });
  await natsWiped(c);
}

/** Runs the chart's CronJob now, which would otherwise run within a day. */
export async function renewCertificate(c: Cluster): Promise<void> {
  await forgetRenewal(c);
  await c.kubectl('-n', NAMESPACE, 'create', 'job', RENEWAL, '--from=cronjob/probeyard-renewal');
  await eventually('the renewal is complete', 300, async () => {
    const done = ['-o', 'jsonpath={.status.conditions[?(@.type=="Complete")].status}'];
    return (await c.kubectl('-n', NAMESPACE, 'get', 'job', RENEWAL, ...done)) === 'True';
  });
}

export const forgetRenewal = async (c: Cluster): Promise<void> => {
  await c.kubectl('-n', NAMESPACE, 'delete', 'job', RENEWAL, '--ignore-not-found');
};

/** Whether NATS presents a certificate that is valid. */
export async function isRenewed(c: Cluster): Promise<boolean> {
  const service = ['-n', NAMESPACE, 'get', 'service', 'probeyard-nats', '-o', 'jsonpath={.spec.clusterIP}'];
  const address = (await c.kubectl(...service)).trim();
  const presented = await presentedCertificate(`tls://${address}:4222`, undefined);
  return presented !== undefined && presented.validTo > Date.now();
}
