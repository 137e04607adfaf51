/** What the kernel counts of a process. */
import { readFileSync } from 'node:fs';

/** Of the kernel's clock. */
const MS_PER_TICK = 10;

export const peakOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

export function cpuOf(pid: number): number {
  const [, , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(user) + Number(system)) * MS_PER_TICK;
}
