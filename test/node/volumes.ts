import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE, NODE_NAME } from './layout.ts';

/** Enough for the database and the message server of several releases at once. */
const COUNT = 16;
const CLASS = 'probeyard-node';

/** The API server validates. kubectl would wait half a minute for its OpenAPI first: a slow machine takes longer. */
export const APPLY: readonly string[] =
  'apply --server-side --force-conflicts --field-manager=probeyard-node --validate=false -f -'.split(' ');

/** The folder of a volume. */
function volumeFolder(index: number): string {
  return join(NODE.stateDir, 'volumes', `volume-${index}`);
}

/**
 * A default storage class over a few folders of the node. It has no provisioner, so the next `make up` empties released
 * volumes and offers them again.
 */
export async function ensureVolumes(
  kubectl: (args: readonly string[], input?: string) => Promise<string>,
): Promise<void> {
  const listed = JSON.parse(await kubectl(['get', 'persistentvolumes', '-o', 'json'])) as {
    items: { metadata: { name: string }; spec: { storageClassName?: string }; status?: { phase?: string } }[];
  };
  const ours = listed.items.filter(({ spec }) => spec.storageClassName === CLASS);
  for (const { metadata, status } of ours)
    if (status?.phase === 'Released') await kubectl(['delete', 'persistentvolume', metadata.name]);
  const kept = new Set(ours.filter(({ status }) => status?.phase !== 'Released').map(({ metadata }) => metadata.name));
  const missing = Array.from({ length: COUNT }, (_, index) => index).filter((index) => !kept.has(nameOf(index)));
  for (const index of missing) await emptyFolder(volumeFolder(index));
  if (missing.length === 0) return;
  const items = [storageClass(), ...missing.map(volume)];
  await kubectl(APPLY, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

function storageClass(): unknown {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: CLASS, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Retain',
  };
}

function volume(index: number): unknown {
  const onThisNode = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: nameOf(index) },
    spec: {
      storageClassName: CLASS,
      capacity: { storage: '20Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: volumeFolder(index) },
      nodeAffinity: { required: { nodeSelectorTerms: [onThisNode] } },
    },
  };
}

function nameOf(index: number): string {
  return `${CLASS}-${index}`;
}

async function emptyFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder)) await rm(join(folder, entry), { recursive: true, force: true });
  // Pods run as various users. The folder above is accessible to root only.
  await chmod(folder, 0o777);
}
