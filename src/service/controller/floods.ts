/**
 * Ends pods that send more messages, or connect more often, than any runner does: such an agent is presumed
 * compromised. Every replica closes the pod's connection once the pod is deleted.
 */
import { isKubeError, type KubeClient, PODS, type Pod } from '../../platform/kube/client.ts';
import { podOf as podUidOf } from '../../platform/bus/runner_id.ts';
import { LABEL } from '../../platform/kube/resource.ts';
import { type Logger, runnerFields } from '../../base/log.ts';
import type { ControllerMetrics } from './metrics.ts';

export interface FloodDeps {
  kube: Pick<KubeClient, 'delete'>;
  log: Logger;
  metrics: Pick<ControllerMetrics, 'podEnded'>;
  namespace: string;
  podOf: (podUid: string) => Pod | undefined;
  kick: (podUid: string) => Promise<unknown>;
}

/** `id`: of the runner, from the subject on which it sends. */
export type EndFlooding = (id: string, what: 'heartbeats' | 'results' | 'chunks' | 'connections') => Promise<void>;

export function floods({ kube, log, metrics, namespace, podOf, kick }: FloodDeps): EndFlooding {
  const ending = new Set<string>();
  return async (id, what) => {
    const uid = podUidOf(id);
    const pod = podOf(uid);
    if (!pod || ending.has(uid)) return;
    ending.add(uid);
    try {
      const { name } = pod.metadata;
      log.warn({ ...runnerFields({ pod: name, uid }), what }, 'runner floods NATS, ending its pod');
      await kick(uid).catch((error: unknown) =>
        log.debug({ err: error, ...runnerFields({ pod: name, uid }) }, 'cannot close the NATS connection of a runner'),
      );
      // Without a grace period, which a hostile agent would use. Deleting the pod also keeps it from reconnecting with
      // its token.
      await kube.delete(PODS, name, { namespace, uid, gracePeriodSeconds: 0 });
      metrics.podEnded(pod.metadata.labels?.[LABEL.pool] ?? '', 'flood');
    } catch (error) {
      if (isKubeError(error, 'not-found', 'conflict')) return;
      const named = runnerFields({ pod: pod.metadata.name, uid });
      log.warn({ err: error, ...named, what }, 'cannot end the pod of a flooding runner');
    } finally {
      ending.delete(uid);
    }
  };
}
