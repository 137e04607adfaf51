import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './cluster_error.ts';
import { until } from './deadline.ts';

export interface Hierarchies {
  version: 1 | 2;
  /** Where a cgroup of ours has to exist for the kubelet. */
  roots: string[];
  /** Where a cgroup of ours may have appeared: also the unified hierarchy beside v1 ones. */
  all: string[];
  /** The one that tells which processes are ours. */
  tracking: string;
}

/** Reads the hierarchies from the text of /proc/self/mountinfo. */
export function hierarchies(mountinfo: string): Hierarchies | undefined {
  const found: { mount: string; type: string; options: string }[] = [];
  for (const line of mountinfo.split('\n')) {
    const [front, back] = line.split(' - ');
    const mount = front?.split(' ')[4];
    const [type, , options] = back?.split(' ') ?? [];
    if (mount !== undefined && options !== undefined && (type === 'cgroup' || type === 'cgroup2')) found.push({ mount, type, options });
  }
  const v1 = found.filter(({ type }) => type === 'cgroup');
  const unified = found.find(({ type }) => type === 'cgroup2')?.mount;
  if (v1.length === 0) return unified === undefined ? undefined : { version: 2, roots: [unified], all: [unified], tracking: unified };
  const roots = v1.map(({ mount }) => mount);
  const pids = v1.find(({ options }) => options.split(',').includes('pids'))?.mount ?? roots[0]!;
  return { version: 1, roots, all: unified === undefined ? roots : [...roots, unified], tracking: pids };
}

export function readHierarchies(): Hierarchies | undefined {
  return hierarchies(readFileSync('/proc/self/mountinfo', 'utf8'));
}

/** Makes `/name` in every hierarchy, and `/name/system`, where the node's own daemons run. Returns the latter's list of processes. */
export async function createCgroup(name: string): Promise<string> {
  const found = readHierarchies();
  if (found === undefined) throw new Error('no cgroup hierarchy is mounted');
  for (const root of found.roots) {
    const folder = join(root, name);
    await mkdir(folder, { recursive: true });
    // A new v1 cpuset is empty and takes no process.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (found.version === 1 && existsSync(join(folder, file)) && (await readFile(join(folder, file), 'utf8')).trim() === '') {
        await writeFile(join(folder, file), await readFile(join(root, file)));
      }
    }
  }
  const system = join(found.tracking, name, 'system');
  await mkdir(system, { recursive: true });
  return join(system, 'cgroup.procs');
}

/** Every process in `/name` and below, in any hierarchy: daemons, shims, and all that runs in pods. */
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
  // A cgroup lets go of its last process a moment after that has ended.
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
