import { PODS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { isHeldBack, isReady } from './injections.ts';
import { killPod, settled } from './load.ts';

/**
 * Waits until both replicas of each part are ready. A pod whose container was killed often is replaced, because the
 * kubelet delays its restart for minutes.
 */
export async function whole(c: Cluster): Promise<void> {
  await settled(c);
  await eventually('both replicas of each part are ready', 150, async () => {
    const { items } = await c.kube.listAll(PODS, { namespace: NAMESPACE });
    for (const pod of items.filter(isHeldBack)) await killPod(c, NAMESPACE, pod.metadata.name);
    return ['api', 'controller'].every(
      (part) =>
        items.filter((pod) => pod.metadata.labels?.['app.kubernetes.io/component'] === part && isReady(pod)).length >=
        2,
    );
  });
}

/** For a fault's test: what an earlier fault left is repaired first. */
export async function wholeCluster(): Promise<Cluster> {
  const c = await cluster();
  try {
    await whole(c);
  } catch (error) {
    await c.close();
    throw error;
  }
  return c;
}
