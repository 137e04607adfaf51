/** docs/compat.md, from the recorded runs. */
import Type, { type Static } from 'typebox';

export const Run = Type.Object({
  /** As `1.35`. */
  version: Type.String(),
  /** As the API server itself reports it. */
  exact: Type.String(),
  /** How the tools reach the runners of its node. */
  delivery: Type.String(),
  when: Type.String(),
  areas: Type.Array(
    Type.Object({
      name: Type.String(),
      passed: Type.Integer(),
      /** Names of the tests that failed. */
      failed: Type.Array(Type.String()),
    }),
  ),
});
export type Run = Static<typeof Run>;

function cell(passed: number, failed: readonly string[]): string {
  if (failed.length > 0) return `**${failed.length} failed**, ${passed} passed`;
  return passed === 0 ? 'skipped' : `${passed} passed`;
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

export function page(runs: readonly Run[]): string {
  const sorted = runs.toSorted((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
  const names = [...new Set(sorted.flatMap(({ areas }) => areas.map(({ name }) => name)))];
  const table = [
    row(['Tests', ...sorted.map(({ exact }) => exact)]),
    row(['---', ...sorted.map(() => '---')]),
    ...names.map((name) =>
      row([
        name,
        ...sorted.map(({ areas }) => {
          const area = areas.find((one) => one.name === name);
          return area ? cell(area.passed, area.failed) : 'not run';
        }),
      ]),
    ),
    row(['Tools of the node in', ...sorted.map(({ delivery }) => delivery)]),
    row(['Run on', ...sorted.map(({ when }) => when)]),
  ];
  const failures = sorted.flatMap(({ exact, areas }) =>
    areas.flatMap(({ failed }) => failed.map((name) => `- ${exact}: ${name}`)),
  );
  return [
    '<!-- Written by `make matrix`. -->',
    '',
    '# Kubernetes versions',
    '',
    'Each column is Kubernetes of that version, built from its source: first an API server with etcd alone, then the',
    '[local node](local-node.md) with that version of every daemon, the kubelet among them. The tests are those of the',
    'repository.',
    '',
    ...table,
    '',
    ...(failures.length > 0 ? ['Failed:', '', ...failures, ''] : []),
    ...REST,
  ].join('\n');
}

const REST = [
  '## What else was and was not run',
  '',
  ...[
    ['What', 'Run', 'Not run'],
    ['---', '---', '---'],
    ['Container runtime', 'containerd 2.4 with runc', 'CRI-O'],
    ['Control groups', 'v1; v2 by `make vm`, with Linux 6.1 of Debian 12', 'v2 in each Kubernetes version'],
    ['Helm', '4 and 3 on the API server, 4 on the node', '3 on the node'],
    ['Architecture', 'amd64', 'nodes of arm64: the images for it were run by QEMU'],
    ['NetworkPolicies', 'enforced by kube-network-policies 0.8', 'Calico, Cilium and others'],
  ].map(row),
  '',
  'Skipped on 1.33 and 1.34: the hostile tool is an image of its own, and there all tools are in one image.',
  '',
  'Image volumes are on by default from Kubernetes 1.35. On 1.33 and 1.34 set `tools.delivery=bundled`',
  '([install](operating/install.md)).',
  '',
  '`make matrix` runs what has not passed yet, one version at a time, and writes this page. `VERSIONS="1.33 1.35"`',
  'names the versions; with `AGAIN=1` everything is run again.',
  '',
];
