import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { readHierarchies } from './cgroups.ts';
import { ClusterError } from './cluster_error.ts';
import { attempt } from './command.ts';
import { readRunning, recordNames } from './processes.ts';
import { savedRules } from './iptables.ts';
import type { Layout } from './layout.ts';
import { onPath } from './packages.ts';
import { say } from '../../images/progress.ts';
import { ownerOf, readListeners, type Listener } from './sockets.ts';

/** Capabilities of the machine, determined before anything is started. */
export interface Host {
  cgroups: 1 | 2;
  mayLowerOomScore: boolean;
  snapshotter: 'overlayfs' | 'native';
}

const CAP_SYS_RESOURCE = 24n;

export function checkPlatform(): void {
  if (process.platform !== 'linux') {
    throw new ClusterError(
      'NOT_LINUX',
      'the local node needs Linux; elsewhere use a cluster of yours: make up CLUSTER=current REGISTRY=host/path',
    );
  }
  if (process.getuid?.() !== 0) {
    throw new ClusterError(
      'NOT_ROOT',
      'the local node needs root (it mounts, makes namespaces and iptables rules): run the same as ' +
        'root, or use a cluster of yours: make up CLUSTER=current REGISTRY=host/path',
    );
  }
}

/**
 * Determines the capabilities of the machine, loads missing modules, and refuses an unsupported machine with one line.
 */
export async function checkHost(layout: Layout): Promise<Host> {
  const hierarchies = readHierarchies();
  if (hierarchies === undefined)
    throw new ClusterError('NO_CGROUPS', 'no cgroup hierarchy is mounted: mount cgroup2 on /sys/fs/cgroup');
  for (const controller of ['cpu', 'memory', 'pids']) {
    if (!controllers(hierarchies.version).includes(controller))
      throw new ClusterError('NO_CGROUPS', `the cgroup controller "${controller}" is not available on this machine`);
  }
  await ensureModule('br_netfilter', '/proc/sys/net/bridge/bridge-nf-call-iptables', 'pods could not talk to services');
  const fresh = (await recordNames(join(layout.runDir, 'processes'))).length === 0;
  if (fresh && /^:KUBE-SERVICES/m.test(await savedRules('iptables'))) {
    throw new ClusterError(
      'OTHER_KUBERNETES',
      'another Kubernetes on this machine has its rules in iptables (KUBE-SERVICES), and two would fight over ' +
        'them: stop it (and remove its rules), or use it: make up CLUSTER=current REGISTRY=host/path',
    );
  }
  const host: Host = {
    cgroups: hierarchies.version,
    mayLowerOomScore: hasCapability(readFileSync('/proc/self/status', 'utf8'), CAP_SYS_RESOURCE),
    snapshotter: (await overlayWorks(layout.stateDir)) ? 'overlayfs' : 'native',
  };
  if (host.snapshotter === 'native')
    say(
      `overlay mounts do not work below ${layout.stateDir}: images are copied instead, which takes more time and space`,
    );
  return host;
}

/** Refuses a port that another process listens on, naming the process. */
export async function checkPorts(layout: Layout, address: string): Promise<void> {
  const ours = new Set<number>();
  for (const name of await recordNames(join(layout.runDir, 'processes'))) {
    if (readRunning(join(layout.runDir, 'processes', name)) !== undefined)
      for (const port of portsOf(layout, name)) ours.add(port);
  }
  const taken: string[] = [];
  for (const listener of conflicts(await readListeners(), Object.values(layout.ports), ['127.0.0.1', address])) {
    if (!ours.has(listener.port)) taken.push(`${listener.port} by ${await ownerOf(listener.inode)}`);
  }
  if (taken.length > 0)
    throw new ClusterError('PORT_IN_USE', `the node needs ports that are in use: ${[...new Set(taken)].join(', ')}`);
}

export function conflicts(
  listening: readonly Listener[],
  ports: readonly number[],
  addresses: readonly string[],
): Listener[] {
  return listening.filter(
    ({ port, address }) => ports.includes(port) && (address === '*' || addresses.includes(address)),
  );
}

export async function checkSpace(folder: string, gigabytes: number, what: string): Promise<void> {
  let existing = folder;
  while (!existsSync(existing)) existing = join(existing, '..');
  const { bavail, bsize } = await statfs(existing);
  const free = (bavail * bsize) / 1e9;
  if (free < gigabytes)
    throw new ClusterError(
      'DISK_FULL',
      `${what} needs ${gigabytes} GB below ${folder}, where ${free.toFixed(1)} ` +
        'GB are free: free some space, then run the same again',
    );
}

export function hasCapability(status: string, bit: bigint): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> bit) & 1n) === 1n;
}

function portsOf({ ports }: Layout, daemon: string): number[] {
  const table: Record<string, number[]> = {
    etcd: [ports.etcd, ports.etcdPeer],
    'kube-apiserver': [ports.api],
    'kube-controller-manager': [ports.controllerManager],
    'kube-scheduler': [ports.scheduler],
    kubelet: [ports.kubelet, ports.kubeletHealth],
    'kube-proxy': [ports.proxyHealth, ports.proxyMetrics],
  };
  return table[daemon] ?? [];
}

function controllers(version: 1 | 2): string[] {
  if (version === 2) return readFileSync('/sys/fs/cgroup/cgroup.controllers', 'utf8').trim().split(' ');
  const lines = readFileSync('/proc/cgroups', 'utf8')
    .split('\n')
    .map((line) => line.split('\t'));
  return lines.filter((fields) => fields[3] === '1').map((fields) => fields[0]!);
}

async function ensureModule(name: string, sign: string, consequence: string): Promise<void> {
  if (existsSync(sign)) return;
  if (onPath('modprobe')) await attempt('modprobe', [name]);
  if (!existsSync(sign))
    throw new ClusterError('NO_MODULE', `the kernel has no ${name} and cannot load it; without it ${consequence}`);
}

async function overlayWorks(folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, '.overlay-'));
  const [lower, upper, inner, merged] = ['lower', 'upper', 'work', 'merged'].map((name) => join(work, name)) as [
    string,
    string,
    string,
    string,
  ];
  try {
    for (const path of [lower, upper, inner, merged]) await mkdir(path);
    const mounted = await attempt('mount', [
      '-t',
      'overlay',
      'overlay',
      '-o',
      `lowerdir=${lower},upperdir=${upper},workdir=${inner}`,
      merged,
    ]);
    if (mounted.code === 0) await attempt('umount', [merged]);
    return mounted.code === 0;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
