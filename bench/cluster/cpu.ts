/**
 * CPU time of the local cluster's processes by kind, which shows the cost of a job even if other load distorts
 * durations.
 */
import { readFileSync, readdirSync } from 'node:fs';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has exited meanwhile.
    return '';
  }
};

/** Processes of this cluster only. Its node keeps them in a cgroup. */
const GROUP = '/probeyard-node';

function labelOf(pid: string): string | undefined {
  if (!read(`/proc/${pid}/cgroup`).includes(GROUP)) return undefined;
  const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  const role = /src\/main\.ts (\w+)/.exec(command)?.[1];
  if (role !== undefined) return role;
  const program = (command.split(' ')[0] ?? '').split('/').at(-1) ?? '';
  return program.startsWith('postgres') ? 'postgres' : program.replace(/:$/, '');
}

/** The program's name, at most 15 characters of it. */
export const nameOfProcess = (pid: number | string): string => read(`/proc/${pid}/comm`).trim();

/** Nanoseconds of a process's threads, without those that have exited. */
export function cpuOfProcess(pid: number | string): number {
  let tasks: string[] = [];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    // It has exited meanwhile.
  }
  return tasks.reduce((sum, task) => sum + Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0] ?? 0), 0);
}

/** Milliseconds by label, without threads that have exited, which are few here. */
export function cpuByLabel(): Map<string, number> {
  const all = new Map<string, number>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const label = labelOf(pid);
    if (label === undefined) continue;
    all.set(label, (all.get(label) ?? 0) + cpuOfProcess(pid) / 1e6);
  }
  return all;
}

/** The difference of the two, largest first. */
export function cpuUsed(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): [label: string, ms: number][] {
  return [...after]
    .map(([label, ms]): [string, number] => [label, ms - (before.get(label) ?? 0)])
    .filter(([, ms]) => ms > 0)
    .sort((a, b) => b[1] - a[1]);
}
