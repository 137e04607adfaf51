/** API and controllers of the local cluster as targets, with the labels that a PodMonitor adds. */
import { PODS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, type Cluster } from '../cluster/fixture.ts';
import type { Target } from './server.ts';

const METRICS_PORT = 9090;

/** As they are now: faults and upgrades replace pods. */
export async function podTargets(c: Cluster): Promise<Target[]> {
  const { items } = await c.kube.listAll(PODS, {
    namespace: NAMESPACE,
    labelSelector: 'app.kubernetes.io/component in (api,controller)',
  });
  return items.flatMap(({ metadata, status }) =>
    status?.podIP === undefined || metadata.deletionTimestamp !== undefined
      ? []
      : [{ address: `${status.podIP}:${METRICS_PORT}`, labels: { namespace: NAMESPACE, pod: metadata.name } }],
  );
}
