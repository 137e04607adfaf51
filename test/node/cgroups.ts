import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './cluster_error.ts';
import { until } from './deadline.ts';

export interface Hierarchies {
  version: 1 | 2;
  /** Hierarchies in which the kubelet needs our cgroup. */
  roots: string[];
  /** Hierarchies that may contain our cgroup, including the unified one beside v1. */
  all: string[];
}

/** Parses the hierarchies from /proc/self/mountinfo. */
export function hierarchies(mountinfo: string): Hierarchies | undefined {
  const found: { mount: string; type: string }[] = [];
  for (const line of mountinfo.split('\n')) {
    const [front, back] = line.split(' - ');
    const mount = front?.split(' ')[4];
    const type = back?.split(' ')[0];
    if (mount !== undefined && (type === 'cgroup' || type === 'cgroup2')) found.push({ mount, type });
  }
  const v1 = found.filter(({ type }) => type === 'cgroup');
  const unified = found.find(({ type }) => type === 'cgroup2')?.mount;
  if (v1.length === 0) return unified === undefined ? undefined : { version: 2, roots: [unified], all: [unified] };
  // A hierarchy may be mounted twice at the same place.
  const roots = [...new Set(v1.map(({ mount }) => mount))];
  return { version: 1, roots, all: unified === undefined ? roots : [...roots, unified] };
}

export function readHierarchies(): Hierarchies | undefined {
  return hierarchies(readFileSync('/proc/self/mountinfo', 'utf8'));
}

/**
 * Makes `/name` in every hierarchy, and `/name/system` for the node's own daemons, so that they do not share the cgroup
 * and the limits of the shell that called make. Returns the process lists to write to.
 */
export async function createCgroup(name: string): Promise<string[]> {
  const found = readHierarchies();
  if (found === undefined) throw new Error('no cgroup hierarchy is mounted');
  const lists: string[] = [];
  if (found.version === 2) await enableControllers(found.roots[0]!);
  for (const root of found.roots) {
    for (const path of [name, join(name, 'system')]) {
      const folder = join(root, path);
      await mkdir(folder, { recursive: true });
      // A new v1 cpuset is empty and accepts no process.
      for (const file of ['cpuset.cpus', 'cpuset.mems']) {
        if (
          found.version === 1 &&
          existsSync(join(folder, file)) &&
          (await readFile(join(folder, file), 'utf8')).trim() === ''
        ) {
          await writeFile(join(folder, file), await readFile(join(folder, '..', file)));
        }
      }
    }
    lists.push(join(root, name, 'system', 'cgroup.procs'));
  }
  return lists;
}

/** The controllers that the kubelet needs. On v2 each has to be enabled from the root down. */
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb', 'io'];

async function enableControllers(root: string): Promise<void> {
  const available = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const enabled = await handedDown();
  const missing = CONTROLLERS.filter((name) => available.includes(name) && !enabled.includes(name));
  if (missing.length > 0)
    await writeFile(join(root, 'cgroup.subtree_control'), missing.map((name) => `+${name}`).join(' '));
}

/** The controllers that the v2 root enables for its children; none on v1. */
export async function handedDown(): Promise<string[]> {
  const found = readHierarchies();
  if (found?.version !== 2) return [];
  return (await readFile(join(found.roots[0]!, 'cgroup.subtree_control'), 'utf8'))
    .trim()
    .split(' ')
    .filter(Boolean)
    .sort();
}

/** Disables the controllers that were enabled for the node, unless another cgroup uses them meanwhile. */
export async function restoreHandedDown(before: readonly string[]): Promise<void> {
  for (const name of await handedDown()) {
    if (!before.includes(name))
      await writeFile(join(readHierarchies()!.roots[0]!, 'cgroup.subtree_control'), `-${name}`).catch(() => {});
  }
}

/** Every process in `/name` and below, in any hierarchy: daemons, shims and all processes in pods. */
export async function cgroupProcesses(name: string): Promise<number[]> {
  const pids = new Set<number>();
  for (const folder of await cgroupFolders(name)) {
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (Number(line) > 0) pids.add(Number(line));
  }
  return [...pids];
}

/** All folders of `/name`, children before parents. */
export async function cgroupFolders(name: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (entry.isDirectory()) await walk(join(folder, entry.name));
    found.push(folder);
  };
  for (const root of readHierarchies()?.all ?? []) if (existsSync(join(root, name))) await walk(join(root, name));
  return found;
}

export async function removeCgroup(name: string): Promise<void> {
  // A cgroup becomes empty shortly after its last process has exited.
  await until({ what: `removing the cgroup ${name}`, timeoutMs: 20_000 }, async () => {
    let busy: unknown;
    for (const folder of await cgroupFolders(name)) {
      await rmdir(folder).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') busy = error;
      });
    }
    if (busy !== undefined) throw busy;
    return true;
  });
}
