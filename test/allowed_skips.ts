/**
 * Tests that may be skipped, by environment: any other skip fails the run (test/run.ts). PROBEYARD_TESTS names the
 * environment; `.ci/run` sets it to `ci`, and a machine on which `make test` has fetched everything is `here`.
 */

interface Allowed {
  /** Of the file and the titles of a test, as the list of skipped tests shows it. */
  pattern: RegExp;
  reason: string;
}

const LONG = 'takes minutes: LONG=1 runs it';
const fault = (names: string, reason: string): Allowed => ({
  pattern: new RegExp(`^test/faults/(?:${names})\\.test\\.ts: `),
  reason,
});

const EVERYWHERE: readonly Allowed[] = [
  { pattern: /^test\/api\/mcp\/inspector\.test\.ts: /, reason: '140 MB of packages: LONG=1 runs it' },
  { pattern: /^test\/source\/real_listings\.test\.ts: /, reason: '240 MB of packages and a large build: LONG=1' },
  { pattern: /^test\/cli\/own_tests\.test\.ts: /, reason: 'fetches libraries: LONG=1 runs it' },
  { pattern: /^test\/newcomer\/tool\.test\.ts: /, reason: 'newcomer/endpoint.test.ts adds the same tool: LONG=1' },
  { pattern: /^test\/images\/arm64\.test\.ts: /, reason: 'ten times as long by QEMU: LONG=1' },
  {
    pattern: /^test\/images\/(?:tool_images|arm64)\.test\.ts: .*skipped, its image is not built here/,
    reason: 'versions of the catalog that an installation does not have by default',
  },
  { pattern: /^test\/docs\/argo_workflows\.test\.ts: /, reason: 'a library of Argo Workflows: a build of minutes' },
  { pattern: /^test\/docs\/airflow\.test\.ts: /, reason: 'Airflow is 500 MB of packages: LONG=1 runs it' },
  { pattern: /^test\/cluster\/bundled\.test\.ts: /, reason: LONG },
  {
    pattern: /^test\/cluster\/doctor\.test\.ts: doctor on the cluster > (?:a storage class|a RuntimeClass|--install-)/,
    reason: LONG,
  },
  { pattern: /^test\/cluster\/bucket_sources\.test\.ts: /, reason: LONG },
  { pattern: /^test\/api\/http\/parquet\.test\.ts: /, reason: 'DuckDB is 60 MB: LONG=1 reads with it' },
  { pattern: /^test\/cluster\/identity\.test\.ts: /, reason: 'the kubelet takes minutes to write Secrets: LONG=1' },
  { pattern: /^test\/cluster\/node\/lifecycle\.test\.ts: .* > starts after a /, reason: LONG },
  { pattern: /^test\/cluster\/uninstall\.test\.ts: /, reason: LONG },
  fault(
    [
      'api_server_stalled|api_server_unreachable|booting_runners_killed|certificate_expired|chart_upgraded',
      'clock_jumped|clocks_differ|everything_rotated|jetstream_full|older_version',
      'postgres_disk_full|postgres_failed_over',
      'postgres_refuses|postgres_stalled|tool_image_gone|tool_images_gone',
    ].join('|'),
    'another fault stands for it, or it takes minutes: LONG=1 and `make faults` run it',
  ),
  { pattern: /^test\/cluster\/gitops\.test\.ts: /, reason: 'libraries of Argo CD and Flux: make gitops builds them' },
  { pattern: /^test\/api\/batch\/(?:multi)?kueue\.test\.ts: /, reason: 'controllers of Kueue: make kueue builds them' },
  fault('nats_server_lost', 'needs three NATS servers: make up VALUES=test/faults/nats_of_three.yaml'),
  fault('node_drained|node_lost', 'needs two nodes: make up NODES=2'),
  {
    pattern: /^test\/hostility\/network_enforced\.test\.ts: /,
    reason: 'needs a network that enforces policies: make up NETWORK_POLICY=1',
  },
];

export const ALLOWED: Readonly<Record<string, readonly Allowed[]>> = {
  here: EVERYWHERE,
  ci: EVERYWHERE,
};

/** Those of the skipped tests that are not allowed in this environment. */
export function newSkips(skipped: readonly string[], environment = process.env['PROBEYARD_TESTS'] ?? 'here'): string[] {
  const allowed = ALLOWED[environment];
  if (allowed === undefined)
    throw new Error(`PROBEYARD_TESTS: "${environment}" is not known: ${Object.keys(ALLOWED).join(', ')}`);
  return skipped.filter((test) => !allowed.some(({ pattern }) => pattern.test(test)));
}
