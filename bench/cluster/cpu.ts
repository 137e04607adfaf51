/**
 * CPU time of the local cluster's processes by kind, which shows the cost of a job even if other load distorts
 * durations.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { AGENT_PROGRAM } from '../../src/service/controller/pools/pod.ts';

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

function labelOf(pid: string, leader: string | undefined): string | undefined {
  if (!read(`/proc/${pid}/cgroup`).includes(GROUP)) return undefined;
  const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  const role = command.includes(AGENT_PROGRAM) ? 'agent' : /src\/main\.ts (\w+)/.exec(command)?.[1];
  if (role === 'controller' && leader !== undefined)
    return `\0${read(`/proc/${pid}/environ`)}`.includes(`\0PY_POD_NAME=${leader}\0`)
      ? 'controller, leading'
      : 'controller, following';
  if (role !== undefined) return role;
  const program = (command.split(' ')[0] ?? '').split('/').at(-1) ?? '';
  return program.startsWith('postgres') ? 'postgres' : program.replace(/:$/, '');
}

/** The program's name, at most 15 characters of it. */
export const nameOfProcess = (pid: number | string): string => read(`/proc/${pid}/comm`).trim();

/** Resident memory in MB; 0 if the process has ended. */
export const residentMb = (pid: number | string): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;

/** Of it, what is of no file and not shared. */
export const privateMb = (pid: number | string): number =>
  Number(/^RssAnon:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;

/** Milliseconds of each thread of a process, without those that have exited. */
function threadsOf(pid: number | string): [thread: string, ms: number][] {
  let tasks: string[] = [];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    // It has exited meanwhile.
  }
  return tasks.map((task) => [task, Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0] ?? 0) / 1e6]);
}

/** Nanoseconds of a process's threads, without those that have exited. */
export const cpuOfProcess = (pid: number | string): number => threadsOf(pid).reduce((sum, [, ms]) => sum + ms, 0) * 1e6;

/** Of `/proc/PID/stat`: the processes that it waited for, and theirs, in ticks of 10 ms. */
function childrenMs(pid: string): number {
  const [, user, system] = /\) \S+(?: \S+){12} (\d+) (\d+)/.exec(read(`/proc/${pid}/stat`)) ?? [];
  return (Number(user ?? 0) + Number(system ?? 0)) * 10;
}

/**
 * Milliseconds of each thread, by label; `tools`: of the tools that each launcher ran. Threads that have exited are
 * missing, which are few here.
 */
export type Cpu = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** `leader`: the controller pod that leads, which gets a label of its own. */
export function cpuByLabel(leader?: string): Cpu {
  const all = new Map<string, Map<string, number>>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const label = labelOf(pid, leader);
    if (label === undefined) continue;
    const threads = all.get(label) ?? new Map<string, number>();
    all.set(label, threads);
    for (const [thread, ms] of threadsOf(pid)) threads.set(thread, ms);
    if (label === 'launcher')
      all.set('tools', (all.get('tools') ?? new Map<string, number>()).set(pid, childrenMs(pid)));
  }
  return all;
}

/** Milliseconds of all processes of the cluster, those that have exited and the tools, too. */
export const cpuOfCluster = (): number =>
  Number(read(`/sys/fs/cgroup/cpuacct${GROUP}/cpuacct.usage`)) / 1e6 ||
  Number(/^usage_usec (\d+)/m.exec(read(`/sys/fs/cgroup${GROUP}/cpu.stat`))?.[1]) / 1e3;

export interface CpuUsed {
  label: string;
  ms: number;
  /** Of its busiest thread. */
  threadMs: number;
}

/** The difference of the two, largest first. */
export const cpuUsed = (before: Cpu, after: Cpu): CpuUsed[] =>
  [...after]
    .map(([label, threads]) => {
      const used = [...threads].map(([thread, ms]) => ms - (before.get(label)?.get(thread) ?? 0));
      return { label, ms: used.reduce((sum, ms) => sum + ms, 0), threadMs: Math.max(0, ...used) };
    })
    .filter(({ ms }) => ms > 0)
    .sort((a, b) => b.ms - a.ms);
