/**
 * The controller owner of every pod created here: a ConfigMap of the release in the runner namespace. `kubectl drain`
 * evicts only pods that have an owner, and the garbage collector deletes them with it on uninstall. The ConfigMap is
 * never created here: otherwise a controller that is still shutting down would keep its pods alive after an uninstall.
 */
import { CONFIG_MAPS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { Meta } from '../../../platform/kube/resource.ts';

export type OwnerReference = NonNullable<Meta['ownerReferences']>[number];

/**
 * A reinstallation creates the owner with another uid, and pods that refer to the old one would be garbage-collected at
 * once.
 */
const FRESH_MS = 10_000;

export class OwnerMissing extends Error {
  readonly code = 'owner-missing';
}

/** Undefined if the chart names no owner (an earlier version). */
export function ownerOf(
  kube: Pick<KubeClient, 'get'>,
  { runnerOwner: name, runnerNamespace: namespace }: { runnerOwner: string; runnerNamespace: string },
): () => Promise<OwnerReference | undefined> {
  let known: { at: number; reference: OwnerReference } | undefined;
  return async () => {
    if (name === '') return undefined;
    if (known && performance.now() - known.at < FRESH_MS) return known.reference;
    try {
      const { metadata } = await kube.get(CONFIG_MAPS, name, { namespace });
      // Without blockOwnerDeletion, which would require a permission on the owner's finalizers.
      known = {
        at: performance.now(),
        reference: { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid ?? '', controller: true },
      };
      return known.reference;
    } catch (error) {
      if (!isKubeError(error, 'not-found')) throw error;
      throw new OwnerMissing(
        `ConfigMap ${name}, the owner of all runner pods, not found in namespace ${namespace}: run helm upgrade`,
      );
    }
  };
}
