/** The authorities of NATS in the runners' namespace, from which runners read them at each connect. */
import { readFile } from 'node:fs/promises';
import { CONFIG_MAPS, type KubeClient } from '../../../platform/kube/client.ts';
import type { Logger } from '../../../base/log.ts';
import { NATS_CA } from './pod.ts';
import type { OwnerReference } from './pod_owner.ts';

const LOOK_MS = 30_000;

export interface NatsCa {
  kube: KubeClient;
  caFile: string;
  namespace: string;
  owner: OwnerReference | undefined;
  log: Logger;
  lookMs?: number;
}

/** Written once before this returns, and again when the file changes: authorities are exchanged while runners run. */
export async function keepNatsCa({
  kube,
  caFile,
  namespace,
  owner,
  log,
  lookMs = LOOK_MS,
}: NatsCa): Promise<{ stop(): void }> {
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
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ err: error }, 'cannot update the CA of NATS for runners, will retry'));
  }, lookMs);
  return { stop: () => clearInterval(timer) };
}
