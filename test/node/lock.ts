import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ClusterError, codeOf } from './cluster_error.ts';
import { parseStat } from './processes.ts';

export const NODE_LOCK = '/run/lock/probeyard-node.lock';

/** Allows one `make up` or `make down` at a time. A lock whose holder has exited is taken over. */
export async function locked<T>(file: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const me = identity(process.pid);
  for (let attempts = 0; ; attempts++) {
    try {
      const handle = openSync(file, 'wx');
      writeSync(handle, me);
      closeSync(handle);
      break;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const holder = read(file);
      const pid = Number(holder.split(' ')[0]);
      if (attempts > 3 || (pid > 0 && identity(pid) === holder)) {
        throw new ClusterError(
          'LOCKED',
          `another make up or make down is at work (pid ${pid}): wait for it, or end it`,
        );
      }
      rmSync(file, { force: true });
    }
  }
  try {
    return await work();
  } finally {
    if (read(file) === me) rmSync(file, { force: true });
  }
}

function identity(pid: number): string {
  const started = parseStat(read(`/proc/${pid}/stat`))?.startTicks ?? 'gone';
  return `${pid} ${started} ${read('/proc/sys/kernel/random/boot_id').trim()}`;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
