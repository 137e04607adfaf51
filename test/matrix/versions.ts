/** The Kubernetes versions whose API servers the chart and the controller are tested against. */
import { PARTS, type PartName } from '../node/parts.ts';

export interface Version {
  /** As `1.35`. */
  name: string;
  part: PartName;
  program: string;
}

const PREFIX = 'apiserver-';

/** Oldest first. The local node's own version has its API server in the node's program. */
export function versions(): Version[] {
  const names = Object.keys(PARTS) as PartName[];
  const others = names
    .filter((name) => name.startsWith(PREFIX))
    .map((part): Version => {
      const name = part.slice(PREFIX.length);
      return { name, part, program: `kube-apiserver-${name}` };
    });
  const own: Version = {
    name: PARTS.kubernetes.version.split('.').slice(0, 2).join('.'),
    part: 'kubernetes',
    program: 'kube-apiserver',
  };
  return [...others, own].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

/** What is run against each: name, and the tests of it. */
export const AREAS: readonly (readonly [string, readonly string[]])[] = [
  [
    'Custom resources: schemas, rules, defaults, upgrade',
    ['test/chart/crds.test.ts', 'test/chart/crd_upgrade.test.ts'],
  ],
  ['Chart: install, upgrade, admission policies, access rights', ['test/chart/server.test.ts']],
  ['Fence of a deposed leader', ['test/controller/fence.test.ts']],
  ['Client: watches, lease, events', ['test/kube/*.test.ts']],
  [
    'ProbeJobs from create to end, with simulated runners',
    ['test/controller/leader.test.ts', 'test/controller/takeover.test.ts', 'test/controller/finalizers.test.ts'],
  ],
  ['Runner pods as the API server takes them', ['test/controller/pools.test.ts', 'test/controller/pool_pods.test.ts']],
];
