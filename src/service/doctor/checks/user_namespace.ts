import { readFile } from 'node:fs/promises';
import type { Probe, Verdict } from '../finding.ts';
import type { Settings } from '../settings.ts';

/** The initial user namespace maps every id to itself. */
const isInitial = (uidMap: string): boolean => /^\s*0\s+0\s+4294967295\s*$/.test(uidMap);

const missing = (found: string): Verdict => ({ status: 'warn', found });

export const userNamespace: Probe<string, Settings> = {
  id: 'user-namespace',
  title: 'user namespaces',
  wanted: 'a pod with hostUsers: false has a user namespace of its own',
  why: 'Outside of its container the user of a tool is then nobody. Pools do without where it is only preferred.',
  collect: () => readFile('/proc/self/uid_map', 'utf8'),
  verdict: (uidMap) =>
    isInitial(uidMap)
      ? missing('the pod has the user ids of the node')
      : {
          status: 'pass',
          found: `user 0 of the pod is ${uidMap.trim().split(/\s+/)[1]} on the node`,
          set: { 'runners.isolation.require': ['UserNamespace'] },
        },
  // No room on the nodes is another matter.
  notStarted: ({ reason, message }) =>
    reason === 'Unschedulable' ? undefined : missing(`the pod did not start: ${reason}: ${message}`),
};
