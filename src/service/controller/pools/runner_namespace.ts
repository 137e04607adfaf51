/**
 * What runner pods need in their namespace. Their controller owner is a ConfigMap of the release: `kubectl drain`
 * evicts only pods that have an owner, and the garbage collector deletes them with it on uninstall. It is never created
 * here: otherwise a controller that is still shutting down would keep its pods alive after an uninstall. Another
 * ConfigMap holds the authorities of NATS, which runners read at each connect.
 */
import { CONFIG_MAPS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../../../base/log.ts';
import { every } from '../../../base/retry.ts';
import { NATS_CA, ownedBy, type OwnerReference } from './pod.ts';

/**
 * A reinstallation creates the owner with another uid, and pods that refer to the old one would be garbage-collected at
 * once.
 */
const FRESH_MS = 10_000;

export class OwnerMissing extends Error {
  readonly code = 'owner-missing';
}

/** Undefined if no owner is named. */
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
      known = { at: performance.now(), reference: ownedBy(metadata) };
      return known.reference;
    } catch (error) {
      if (!isKubeError(error, 'not-found')) throw error;
      throw new OwnerMissing(
        `ConfigMap ${name}, the owner of all runner pods, not found in namespace ${namespace}: run helm upgrade`,
      );
    }
  };
}

const LOOK_MS = 30_000;

interface NatsCa {
  kube: KubeClient;
  caFile: string;
  namespace: string;
  owner: OwnerReference | undefined;
  log: Logger;
}

/** Written once before this returns, and again when the file changes: authorities are exchanged while runners run. */
export async function keepNatsCa({ kube, caFile, namespace, owner, log }: NatsCa): Promise<{ stop(): void }> {
  let written: string | undefined;
  const look = async (): Promise<void> => {
    const ca = await readFile(caFile, 'utf8');
    if (ca === written) return;
    const metadata = { name: NATS_CA, namespace, ...(owner ? { ownerReferences: [owner] } : {}) };
    await kube.apply(
      CONFIG_MAPS,
      { metadata, data: { 'ca.crt': ca } },
      { fieldManager: 'probeyard-controller', force: true },
    );
    written = ca;
  };
  await look();
  return every(LOOK_MS, look, (error) =>
    log.warn({ err: error }, 'cannot update the CA of NATS for runners, will retry'),
  );
}
