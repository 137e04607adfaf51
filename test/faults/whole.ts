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

/** The kubelet waits 10 s before it starts a container again, and twice as long each time. */
const MOST_RESTARTS = 2;

/** Replaces the pods that were restarted so often that the next restart would take minutes. */
export async function withoutDelays(c: Cluster): Promise<void> {
  const { items } = await c.kube.listAll(PODS, { namespace: NAMESPACE });
  for (const { metadata, status } of items) {
    const [container] = status?.containerStatuses ?? [];
    const isReplaced = /^(?:api|controller)$/.test(metadata.labels?.['app.kubernetes.io/component'] ?? '');
    if (isReplaced && (container?.restartCount ?? 0) > MOST_RESTARTS) await killPod(c, NAMESPACE, metadata.name);
  }
  await whole(c);
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
