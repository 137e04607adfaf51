/** What the kernel counts of a process. */
import { readFileSync } from 'node:fs';

/** Of the kernel's clock. */
const MS_PER_TICK = 10;

export const peakOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** In ms, by the fields of `/proc/PID/stat` from the state on. */
function ticksOf(pid: number, from: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[from]) + Number(fields[from + 1])) * MS_PER_TICK;
}

export const cpuOf = (pid: number): number => ticksOf(pid, 11);
/** Of the processes that it waited for. */
export const endedCpuOf = (pid: number): number => ticksOf(pid, 13);
