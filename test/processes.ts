/** Signals to a process and those that it started. */
import { readdirSync, readFileSync } from 'node:fs';

/** The processes that this one started, from /proc. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The name of the program is in brackets, and may contain spaces.
        const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
        return Number(parent) === pid ? [Number(name)] : [];
      } catch {
        return []; // It has ended.
      }
    });
}

/** Whether it holds nothing any more: nobody may have asked for its exit code yet. */
export function hasEnded(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
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
