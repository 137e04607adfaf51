import { readFile } from 'node:fs/promises';
import type { Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';

/** Of `/proc/self/mountinfo`: the type of the file system at /sys/fs/cgroup, which stands behind a dash. */
export const typeIn = (mounts: string): string | undefined =>
  mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields[4] === '/sys/fs/cgroup')
    .map((fields) => fields[fields.indexOf('-') + 1])[0];

export const cgroup: Probe<string | undefined, Settings> = {
  id: 'cgroup',
  title: 'cgroup mode',
  wanted: 'cgroup v2',
  why: 'From Kubernetes 1.35 a kubelet refuses to start on cgroup v1 by default.',
  collect: async () => typeIn(await readFile('/proc/self/mountinfo', 'utf8')),
  verdict(type) {
    if (type === 'cgroup2') return { status: 'pass', found: 'v2' };
    if (type === undefined) return { status: 'unknown', found: 'nothing is mounted at /sys/fs/cgroup' };
    return { status: 'warn', found: type === 'tmpfs' || type === 'cgroup' ? 'v1' : `a ${type} at /sys/fs/cgroup` };
  },
};
