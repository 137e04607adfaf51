import { readFileSync, readdirSync } from 'node:fs';

/** Resident memory of everything on this node that belongs to a part of the product, in MB. */
export function memoryOf(part: 'api' | 'controller'): number {
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
      if (environment.includes(`\0PY_POD_NAME=probeyard-${part}`)) sum += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // It ended meanwhile.
    }
  }
  return Math.round(sum / 1024);
}
