import { release } from 'node:os';
import type { Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';

export const kernel: Probe<string, Settings> = {
  id: 'kernel',
  title: 'kernel',
  wanted: 'Linux 5.9 or later; 6.3 for user namespaces',
  why: 'Below 5.9 the launcher cannot watch what tools connect to, and only NetworkPolicy limits it.',
  collect: () => Promise.resolve(release()),
  verdict(version) {
    const [major = Number.NaN, minor = Number.NaN] = version.split(/[.-]/, 2).map(Number);
    const number = major * 1000 + minor;
    if (Number.isNaN(number)) return { status: 'unknown', found: `Linux ${version}` };
    return { status: number >= 5_009 ? 'pass' : 'warn', found: `Linux ${version}` };
  },
};
