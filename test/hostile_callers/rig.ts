/**
 * The means of an attacker on the cluster (tokens of pods and access to NATS), and the log lines of the controllers.
 */
import { CONFIG_MAPS, PODS, type Pod } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, RUNNERS, type Cluster } from '../cluster/fixture.ts';
import { openWire, type Wire } from './wire.ts';

export interface LogLine {
  level: number;
  time: string;
  msg: string;
  [member: string]: unknown;
}

export async function tokenFor(
  c: Cluster,
  account: string,
  options: { audience?: string; pod?: Pod; namespace?: string } = {},
): Promise<string> {
  const { audience, pod, namespace = RUNNERS } = options;
  const bound = pod
    ? ['--bound-object-kind=Pod', `--bound-object-name=${pod.metadata.name}`, `--bound-object-uid=${pod.metadata.uid}`]
    : [];
  return (
    await c.kubectl(
      '-n',
      namespace,
      'create',
      'token',
      account,
      ...(audience === undefined ? [] : [`--audience=${audience}`]),
      ...bound,
    )
  ).trim();
}

export async function runnerPods(c: Cluster): Promise<Pod[]> {
  const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` });
  return items.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  );
}

export async function natsOf(c: Cluster): Promise<(as?: object) => Promise<Wire>> {
  const host = (
    await c.kubectl('-n', NAMESPACE, 'get', 'service', 'probeyard-nats', '-o', 'jsonpath={.spec.clusterIP}')
  ).trim();
  const ca = (await c.kube.get(CONFIG_MAPS, 'probeyard-ca', { namespace: RUNNERS })).data?.['ca.crt'] ?? '';
  return (as = {}) => openWire({ host, name: 'probeyard-nats.probeyard.svc', ca, as });
}

/** Log lines of both controllers since the given time. */
export async function controllersSaid(c: Cluster, since: Date): Promise<LogLine[]> {
  const text = await c.kubectl(
    '-n',
    NAMESPACE,
    'logs',
    '-l',
    `${LABEL.component}=controller`,
    '--tail=-1',
    `--since-time=${since.toISOString()}`,
  );
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as LogLine];
    } catch {
      return [];
    }
  });
}
