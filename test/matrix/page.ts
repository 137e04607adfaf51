/** docs/compat.md, from the recorded runs. */
import Type, { type Static } from 'typebox';

export const Run = Type.Object({
  /** As `1.35`. */
  version: Type.String(),
  /** As the API server itself reports it. */
  exact: Type.String(),
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

const cell = (passed: number, failed: readonly string[]): string =>
  failed.length === 0 ? `${passed} passed` : `**${failed.length} failed**, ${passed} passed`;

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
    'Each column is a real API server of that version, built from its source, with etcd beside it. The tests are those',
    'of the repository.',
    '',
    ...table,
    '',
    ...(failures.length > 0 ? ['Failed:', '', ...failures, ''] : []),
    ...REST,
  ].join('\n');
}

const REST = [
  '## Not in these runs',
  '',
  'These runs have no kubelet, so no pod starts in them: image volumes, user namespaces, seccomp and the isolation of',
  'runners are tested on the [local node](local-node.md) alone.',
  '',
  ...[
    ['What', 'Run', 'Not run'],
    ['---', '---', '---'],
    ['Kubelet', '1.36', 'other versions'],
    ['Container runtime', 'containerd 2.4 with runc', 'CRI-O'],
    ['Control groups', 'v1', 'v2: the code handles it'],
    ['Helm', '4', '3'],
    ['Architecture', 'amd64', 'arm64'],
  ].map(row),
  '',
  'Image volumes are on by default from Kubernetes 1.35. On 1.33 and 1.34 set `tools.delivery=bundled`',
  '([install](operating/install.md)).',
  '',
  '`make matrix` runs what has no record yet, one version at a time, and writes this page. `VERSIONS="1.33 1.35"` runs',
  'these again.',
  '',
];
