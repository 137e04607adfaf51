/** The Kubernetes versions that chart, controller and runners are tested on, and what is run on each. */
import { PARTS } from '../node/parts.ts';
import { otherVersions, shortVersion } from '../node/versions.ts';

/** As `1.35`, oldest first. */
export const versions = (): string[] =>
  [...otherVersions('kubernetes').keys(), shortVersion('kubernetes')].sort((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );

/** Name, and the tests of it. */
export type Area = readonly [string, readonly string[]];

/** On the API server alone. */
export const ON_SERVER: readonly Area[] = [
  ['Custom resources: schemas, rules, defaults', ['test/chart/crds.test.ts']],
  ['Fence of a deposed leader', ['test/controller/fence.test.ts']],
  ['Client: watches, lease, events', ['test/kube/*.test.ts']],
  [
    'ProbeJobs from create to end, with simulated runners',
    ['leader', 'create', 'takeover', 'finalizers'].map((name) => `test/controller/${name}.test.ts`),
  ],
  ['Runner pods as the API server takes them', ['test/controller/pools.test.ts', 'test/controller/pool_pods.test.ts']],
];

/** On the API server, once by each Helm. */
const CHART = ['test/chart/server.test.ts'];
export const BY_HELM: readonly { helm: string; area: Area }[] = [PARTS.helm, PARTS['helm-3']].map(({ version }) => ({
  helm: version,
  area: [`Chart by Helm ${version}: install, upgrade, admission`, CHART],
}));

/** The name of what `make up` itself shows. */
export const NODE_AREA = '`make up`: a node, the chart, a first probe';

/** On a node with kubelet, controllers and proxy of that version. */
export const ON_NODE: readonly Area[] = [
  ['Every tool version', ['test/cluster/all_tools.test.ts']],
  [
    'Requests: files, playlists, C2PA, uploads, policies',
    ['probe', 'hls', 'c2pa', 'upload', 'policy'].map((name) => `test/cluster/${name}.test.ts`),
  ],
  ['Jobs created with kubectl', ['test/cluster/by_hand.test.ts']],
  ['What hostile media reaches from its pod', ['test/hostility/media.test.ts']],
];
