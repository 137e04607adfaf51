/**
 * The controller owner of every pod that we make: a ConfigMap of the release in the runners' namespace. `kubectl drain`
 * evicts only pods that have one, and the garbage collector ends them with it when the release is uninstalled. It is
 * never made here: after an uninstall a controller that is still ending would keep its pods alive.
 */
import { CONFIG_MAPS, isKubeError, type KubeClient } from '../../kube/client.ts';
import type { Meta } from '../../kube/resource.ts';

export type OwnerReference = NonNullable<Meta['ownerReferences']>[number];

/** A new install makes it anew, under another uid: pods of the old one would be collected at once. */
const FRESH_MS = 10_000;

export class OwnerMissing extends Error {
  readonly code = 'owner-missing';
}

/** Undefined where the chart names none: one of an earlier version. */
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
      // Without blockOwnerDeletion, which would need a right on the owner's finalizers.
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
