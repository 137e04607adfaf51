/**
 * The second node of `make up NODES=2`: a kubelet, a containerd and a kube-proxy of its own, in a network namespace
 * that a link joins to the bridge of the first. Its pods' bridge is part of the same network, and its iptables are its
 * own, so it can be cut off or killed while the first goes on. Processes, mounts and volumes are below the folders and
 * the cgroup of the first, and end with it.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { attempt, run } from './command.ts';
import { cgroupFolders, removeCgroup } from './cgroups.ts';
import { BRIDGE, SECOND, UPLINK } from './layout.ts';
import { hasLink } from './links.ts';
import { unmountBelow } from './mounts.ts';
import { removeUplink } from './network.ts';
import type { Place } from './place.ts';
import type { Settings } from './settings.ts';
import { endProcesses } from './teardown.ts';

/** Whether `make up` keeps a second node: as asked, else as before. */
export function wantsSecond(asked = process.env['NODES']): boolean {
  if (asked === undefined || asked === '') return existsSync(SECOND.stateDir);
  if (asked !== '1' && asked !== '2') throw new Error(`NODES=${asked}: 1 or 2`);
  return asked === '2';
}

const inNamespace = (netns: string, command: readonly string[]): string[] => [`--net=${netns}`, ...command];

/** Makes the namespace, its link to the first node's bridge and the bridge of its pods. Repeating it is harmless. */
export async function ensureSecondNetwork(place: Place, { podCidr, hostIp }: Settings): Promise<void> {
  const netns = place.netns!;
  const inside = (...command: string[]) => run('nsenter', inNamespace(netns, command));
  await mkdir(SECOND.runDir, { recursive: true });
  if (!(await isNamespace(netns))) {
    await writeFile(netns, '');
    // Held by the mount at this file, not by a process, and not known to `ip netns`.
    await run('unshare', [`--net=${netns}`, 'true']);
  }
  await inside('ip', 'link', 'set', 'lo', 'up');
  if (!hasLink(UPLINK)) {
    await run('ip', ['link', 'add', UPLINK, 'type', 'veth', 'peer', 'name', 'uplink']);
    await run('ip', ['link', 'set', 'uplink', 'netns', netns]);
  }
  await run('ip', ['link', 'set', UPLINK, 'master', BRIDGE, 'up']);
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
export async function killSecond(): Promise<void> {
  await endProcesses(SECOND);
}

/** Cuts the node off from the first, or connects it again. Its pods go on among themselves. */
export async function linkSecond(up: boolean): Promise<void> {
  await run('ip', ['link', 'set', UPLINK, up ? 'up' : 'down']);
}

/** Removes the node from the machine. Its Node is the caller's to delete. */
export async function removeSecond(): Promise<void> {
  if ((await cgroupFolders(SECOND.name)).length > 0) await endProcesses(SECOND);
  await unmountBelow([SECOND.runDir, SECOND.stateDir]);
  await removeUplink();
  await removeCgroup(SECOND.name);
  for (const folder of [SECOND.runDir, SECOND.stateDir, SECOND.logDir])
    await rm(folder, { recursive: true, force: true });
}
