/** A small file system under the volume of a server, so that it can be filled without the disk of the machine. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PODS } from '../../src/platform/kube/client.ts';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { attempt, run } from '../node/command.ts';
import { NODE } from '../node/layout.ts';
import { isReady } from './injections.ts';
import { moment } from './load.ts';

export interface SmallDisk {
  /** Fills it to the last block and keeps it full while `work` runs. */
  full(work: () => Promise<void>): Promise<void>;
  /** Puts the former volume back, with what was written meanwhile. */
  remove(): Promise<void>;
}

type Server = 'postgres' | 'nats';
const ROOM_MIB: Readonly<Record<Server, number>> = { postgres: 160, nats: 48 };

/** The folder of the node that the claim of the server is bound to. */
async function folderOf(c: Cluster, server: Server): Promise<string> {
  const get = async (...what: string[]) => (await c.kubectl('-n', NAMESPACE, 'get', ...what)).trim();
  const volume = await get('pvc', `data-probeyard-${server}-0`, '-o', 'jsonpath={.spec.volumeName}');
  const folder = await get('pv', volume, '-o', 'jsonpath={.spec.local.path}');
  if (!existsSync(folder)) throw new Error(`the volume of ${server} is not a folder of this machine: ${folder}`);
  return folder;
}

async function scaled(c: Cluster, server: Server, replicas: number): Promise<void> {
  await c.kubectl('-n', NAMESPACE, 'scale', `statefulset/probeyard-${server}`, `--replicas=${replicas}`);
  await eventually(`${server} has ${replicas} pods`, 180, async () => {
    const { items } = await c.kube.listAll(PODS, {
      namespace: NAMESPACE,
      labelSelector: `app.kubernetes.io/component=${server}`,
    });
    return items.length === replicas && items.every(isReady);
  });
}

async function mounted(image: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await run('mount', ['-o', 'loop', image, folder]);
  await rm(join(folder, 'lost+found'), { recursive: true, force: true });
}

async function moveToSmallDisk(folder: string, image: string, roomMib: number): Promise<void> {
  const stage = `${folder}.small`;
  const usedMib = Number((await run('du', ['-sm', folder])).split(/\s/)[0]);
  await rm(image, { force: true });
  await run('truncate', ['-s', `${usedMib + roomMib}M`, image]);
  // Nothing is reserved for root, who fills it.
  await run('mkfs.ext4', ['-q', '-F', '-m', '0', image]);
  await mounted(image, stage);
  // With the owner and the mode of the folder itself: with others the kubelet would change those of all files.
  await run('cp', ['-a', `${folder}/.`, stage]);
  await run('umount', [stage]);
  await rm(stage, { recursive: true });
  await mounted(image, folder);
}

async function moveBack(folder: string, image: string): Promise<void> {
  const stage = `${folder}.small`;
  // Beside the former folder first, so that an interruption loses nothing.
  await rm(stage, { recursive: true, force: true });
  await run('cp', ['-a', folder, stage]);
  await run('umount', [folder]);
  await rename(folder, `${folder}.before`);
  await rename(stage, folder);
  await rm(`${folder}.before`, { recursive: true, force: true });
  await rm(image, { force: true });
}

/** The server removes files meanwhile, so the filler grows again and again. */
async function keptFull(folder: string, work: () => Promise<void>): Promise<void> {
  const filler = join(folder, 'filler');
  const grow = async (): Promise<void> => {
    for (const size of ['1M', '4k'])
      await attempt('dd', ['if=/dev/zero', `of=${filler}`, `bs=${size}`, 'oflag=append', 'conv=notrunc,fsync']);
  };
  const over = new AbortController();
  await grow();
  const growing = (async () => {
    while (!over.signal.aborted) {
      await moment(1_000);
      await grow();
    }
  })();
  try {
    await work();
  } finally {
    over.abort();
    await growing;
    await rm(filler, { force: true });
  }
}

/** Restarts the server on a disk with little room. Its data is moved there and back. */
export async function onSmallDisk(c: Cluster, server: Server): Promise<SmallDisk> {
  const folder = await folderOf(c, server);
  const image = join(NODE.stateDir, `small-disk-${server}.img`);
  const remove = async (): Promise<void> => {
    await scaled(c, server, 0);
    await moveBack(folder, image);
    await scaled(c, server, 1);
  };
  await scaled(c, server, 0);
  await moveToSmallDisk(folder, image, ROOM_MIB[server]);
  try {
    await scaled(c, server, 1);
  } catch (error) {
    await remove();
    throw error;
  }
  return { full: (work) => keptFull(folder, work), remove };
}
