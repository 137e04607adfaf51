/**
 * The further nodes of `make up NODES=2` and 3: each is a kubelet, a containerd and a kube-proxy of its own, in a
 * network namespace that a link joins to the bridge of the first. Its pods' bridge is part of the same network, and its
 * iptables are its own, so it can be cut off or killed while the others go on. Processes, mounts and volumes are below
 * the folders and the cgroup of the first, and end with it.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { attempt, run } from './command.ts';
import { cgroupFolders, removeCgroup } from './cgroups.ts';
import { ClusterError } from './cluster_error.ts';
import { BRIDGE, JOINED, type Joined } from './layout.ts';
import { hasLink } from './links.ts';
import { unmountBelow } from './mounts.ts';
import { removeLink } from './network.ts';
import type { Place } from './place.ts';
import type { Settings } from './settings.ts';
import { endProcesses } from './teardown.ts';

const MOST = 1 + JOINED.length;

const isThere = ({ layout }: Joined): boolean => existsSync(layout.stateDir);

/** How many nodes `make up` keeps: as asked, else as before. */
export function wantedNodes(asked = process.env['NODES']): number {
  if (asked === undefined || asked === '') return 1 + JOINED.filter(isThere).length;
  const nodes = Number(asked);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > MOST)
    throw new ClusterError('NO_SUCH_CHOICE', `NODES=${asked}: 1 to ${MOST}`);
  return nodes;
}

/** Those that are there and not wanted. */
export const unwantedNodes = (nodes: number): Joined[] => JOINED.slice(nodes - 1).filter(isThere);

const inNamespace = (netns: string, command: readonly string[]): string[] => [`--net=${netns}`, ...command];

/** Makes the namespace, its link to the first node's bridge and the bridge of its pods. Repeating it is harmless. */
export async function ensureJoinedNetwork(place: Place, { podCidr, hostIp }: Settings): Promise<void> {
  const netns = place.netns!;
  const { uplink } = JOINED.find(({ name }) => name === place.name)!;
  const inside = (...command: string[]) => run('nsenter', inNamespace(netns, command));
  await mkdir(place.layout.runDir, { recursive: true });
  if (!(await isNamespace(netns))) {
    await writeFile(netns, '');
    // Held by the mount at this file, not by a process, and not known to `ip netns`.
    await run('unshare', [`--net=${netns}`, 'true']);
  }
  await inside('ip', 'link', 'set', 'lo', 'up');
  if (!hasLink(uplink)) {
    await run('ip', ['link', 'add', uplink, 'type', 'veth', 'peer', 'name', 'uplink']);
    await run('ip', ['link', 'set', 'uplink', 'netns', netns]);
  }
  await run('ip', ['link', 'set', uplink, 'master', BRIDGE, 'up']);
  if ((await attempt('nsenter', inNamespace(netns, ['ip', 'link', 'show', BRIDGE]))).code !== 0)
    await inside('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  await inside('ip', 'link', 'set', 'uplink', 'master', BRIDGE, 'up');
  await inside('ip', 'address', 'replace', `${place.address}/${podCidr.split('/')[1]!}`, 'dev', BRIDGE);
  await inside('ip', 'link', 'set', BRIDGE, 'up');
  await inside('ip', 'route', 'replace', 'default', 'via', hostIp);
  for (const name of ['net/ipv4/ip_forward', 'net/bridge/bridge-nf-call-iptables'])
    await inside('sh', '-c', `echo 1 > /proc/sys/${name}`);
}

const isNamespace = async (file: string): Promise<boolean> =>
  existsSync(file) && (await attempt('nsenter', [`--net=${file}`, 'true'])).code === 0;

/** Everything on the node ends at once, as when its power fails. */
export async function killNode({ layout }: Joined): Promise<void> {
  await endProcesses(layout);
}

/** Cuts the node off from the others, or connects it again. Its pods go on among themselves. */
export async function linkNode({ uplink }: Joined, up: boolean): Promise<void> {
  await run('ip', ['link', 'set', uplink, up ? 'up' : 'down']);
}

/** Removes the node from the machine. Its Node is the caller's to delete. */
export async function removeJoined({ layout, uplink }: Joined): Promise<void> {
  if ((await cgroupFolders(layout.name)).length > 0) await endProcesses(layout);
  await unmountBelow([layout.runDir, layout.stateDir]);
  await removeLink(uplink);
  await removeCgroup(layout.name);
  for (const folder of [layout.runDir, layout.stateDir, layout.logDir])
    await rm(folder, { recursive: true, force: true });
}
