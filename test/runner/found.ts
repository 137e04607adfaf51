/** Processes of tools, found by their command line: a tool in a PID namespace knows its process by another id. */
import { readdirSync, readFileSync } from 'node:fs';

/** A sleep time that no other process on this machine uses. */
export const odd = (seconds: number): string => `${seconds}.${process.pid}`;

/** Ids of the processes whose command line includes this text, in which each argument ends with NUL. */
export const processesWith = (text: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandOf(pid).includes(text));

/** Empty for a process that is gone. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
