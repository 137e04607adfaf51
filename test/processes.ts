/** A process and those that it started: their CPU, and signals to them. */
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.ts';

/** The processes that this one started, from /proc. */
export function childrenOf(pid: number): number[] {
  return [...allProcesses()].filter(([, { parent }]) => parent === pid).map(([child]) => child);
}

interface Process {
  parent: number;
  /** Its own, and those of the children that it has waited for. */ cpu: number;
}

function allProcesses(): Map<number, Process> {
  const all = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      // The name of the program is in brackets, and may contain spaces.
      const fields = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ').at(-1)!.split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, value) => sum + Number(value), 0);
      all.set(Number(name), { parent: Number(fields[1]), cpu: ticks / 100 });
    } catch {
      // It has ended.
    }
  }
  return all;
}

/** CPU seconds of this process and everything that it started, ended or not. */
export function cpuSecondsOfTree(): number {
  const all = allProcesses();
  const isOurs = (pid: number): boolean => {
    if (pid === process.pid) return true;
    const parent = all.get(pid)?.parent;
    return parent !== undefined && isOurs(parent);
  };
  return [...all].reduce((sum, [pid, { cpu }]) => (isOurs(pid) ? sum + cpu : sum), 0);
}

/** Whether it holds nothing any more: nobody may have asked for its exit code yet. */
export function hasEnded(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

/** Pauses it (SIGSTOP). On a busy machine its threads go on for a moment after the signal. */
export async function pauseProcess(pid: number): Promise<void> {
  signalAll([pid], 'SIGSTOP');
  await until(`process ${pid} has stopped`, () =>
    readdirSync(`/proc/${pid}/task`).every((thread) =>
      /\) [TtZX] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')),
    ),
  );
}

export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
