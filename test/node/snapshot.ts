import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { handedDown, readHierarchies } from './cgroups.ts';
import { run } from './command.ts';
import { comparableRules, savedRules } from './iptables.ts';
import { readLinks } from './links.ts';
import { readMountPoints } from './mounts.ts';
import { SYSCTLS, sysctlFile } from './network.ts';

/** The state of a machine that a cluster changes, as comparable lists. */
export const Snapshot = Type.Object({
  boot: Type.String(),
  lists: Type.Object({
    links: Type.Array(Type.String()),
    mounts: Type.Array(Type.String()),
    namespaces: Type.Array(Type.String()),
    rules: Type.Array(Type.String()),
    rules6: Type.Array(Type.String()),
    routes: Type.Array(Type.String()),
    cgroups: Type.Array(Type.String()),
    /** Folders of the kubelet and containerd outside our own. */
    folders: Type.Array(Type.String()),
  }),
  /** cgroup v2: the controllers that the root enables. */
  controllers: Type.Optional(Type.Array(Type.String())),
  sysctls: Type.Record(Type.String(), Type.String()),
});
export type Snapshot = Static<typeof Snapshot>;
export type ListName = keyof Snapshot['lists'];

export const SIDE_FOLDERS = [
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
  '/run/containerd',
  '/var/lib/cni',
  '/var/run/nri',
  '/opt/containerd',
  '/etc/cni',
  '/var/lib/containerd',
];

export async function takeSnapshot(): Promise<Snapshot> {
  const sysctls: Record<string, string> = {};
  for (const name of Object.keys(SYSCTLS)) {
    const value = await readFile(sysctlFile(name), 'utf8').catch(() => undefined);
    if (value !== undefined) sysctls[name] = value.trim();
  }
  return {
    boot: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
    lists: {
      links: await readLinks(),
      mounts: readMountPoints().sort(),
      namespaces: (await readdir('/run/netns').catch(() => [])).sort(),
      rules: comparableRules(await savedRules('iptables')),
      rules6: comparableRules(await savedRules('ip6tables')),
      routes: (await run('ip', ['-4', 'route', 'show', 'table', 'all']))
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
        .sort(),
      cgroups: await allCgroups(),
      folders: SIDE_FOLDERS.filter((folder) => existsSync(folder)),
    },
    controllers: await handedDown(),
    sysctls,
  };
}

export interface Difference {
  list: ListName | 'sysctls';
  added: string[];
  removed: string[];
}

export function differences(before: Snapshot, after: Snapshot): Difference[] {
  const found: Difference[] = [];
  for (const list of Object.keys(before.lists) as ListName[]) {
    const added = without(after.lists[list], before.lists[list]);
    const removed = without(before.lists[list], after.lists[list]);
    if (added.length > 0 || removed.length > 0) found.push({ list, added, removed });
  }
  const changed = Object.keys(before.sysctls).filter((name) => before.sysctls[name] !== after.sysctls[name]);
  if (changed.length > 0) {
    found.push({
      list: 'sysctls',
      added: changed.map((name) => `${name}=${after.sysctls[name]}`),
      removed: changed.map((name) => `${name}=${before.sysctls[name]}`),
    });
  }
  return found;
}

/** Compares as multisets, because a mount point can occur twice. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const item of other) counts.set(item, (counts.get(item) ?? 0) + 1);
  return list.filter((item) => {
    const left = counts.get(item) ?? 0;
    counts.set(item, left - 1);
    return left <= 0;
  });
}

async function allCgroups(): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (!entry.isDirectory()) continue;
      found.push(join(folder, entry.name));
      await walk(join(folder, entry.name));
    }
  };
  for (const root of readHierarchies()?.all ?? []) await walk(root);
  return found.sort();
}
