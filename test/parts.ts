/**
 * Which test files belong to which part of a run (test/run.ts). `unit` and `cluster` are what every change waits for;
 * `slow` is what a merge waits for. What is slow is chosen by measured time: test/files.ts prints the dearest files.
 */

import { filesOf } from './files.ts';

/** The patterns of a part, and why they are in it. */
export type Part = readonly (readonly [reason: string, ...patterns: string[]])[];

export const CHECKS: Part = [['imports, widths, functions, Makefile', 'test/repository/*.test.ts']];

const ALONE: Part = [['all but what follows', 'test/**/*.test.ts']];

/** Without a cluster. CPU seconds on a busy machine of two cores, where unit and slow together took 1,040. */
export const SLOW_ALONE: Part = [
  [
    'a browser (125)',
    'test/console/{account,answer,batches,cluster,hand_on,playground,policies,raw,records}.test.ts',
    'test/console/{sources,sso,start,states,tasks,timeline,tour,verdict}.test.ts',
    'test/docs/browser.test.ts',
    'test/api/docs/reference.test.ts',
    'test/api/report_page/browser.test.ts',
  ],
  [
    'a command line as a process of its own, beside an installation (87)',
    'test/cli/{action,batch,commands,completion,doctor,kubectl,kubectl_itself,mcp,own_tests,package,send_file}.test.ts',
    'test/cli/{causes,ffprobe_outputs,shim,wrappers}.test.ts',
    'test/api/mcp/inspector.test.ts',
  ],
  ['Helm renders the chart, again and again (83)', 'test/chart/*.test.ts'],
  [
    'compilers, bundlers and generators (91)',
    'test/hls/bundle.test.ts',
    'test/runner/{bundle,loaded_modules,renewal}.test.ts',
    'test/docs/{blocks,site}.test.ts',
    'test/api/clients/*.test.ts',
    'test/console/files.test.ts',
  ],
  ['stores whose servers are large: LONG=1 (60)', 'test/source/real_listings.test.ts'],
  ['Kueue, whose program is large (20)', 'test/api/batch/{kueue,multikueue}.test.ts'],
  ['Airflow: LONG=1 (120), and a library of Argo Workflows (10)', 'test/docs/{airflow,argo_workflows}.test.ts'],
  ['a newcomer adds a tool, which is built and run (21)', 'test/newcomer/*.test.ts'],
  [
    'the worst that a caller can send, random requests and damaged media (123)',
    'test/api/worst_bodies.test.ts',
    'test/fuzz/**/*.test.ts',
    'test/c2pa/{changed,fuzz,hostile}.test.ts',
    'test/{compare,policy,report}/fuzz.test.ts',
  ],
  [
    'media that real programs decode, and each way to fail, of each program (50)',
    'test/runner/{causes,qc_integrity,qc_program,qc_signals}.test.ts',
    'test/tools/pictures.test.ts',
  ],
  ['memory at its limit (38)', 'test/api/memory_peak.test.ts', 'test/runner/compare_memory.test.ts'],
  [
    'servers in threes, roles as processes, images as they start (86)',
    'test/bus/cluster.test.ts',
    'test/backup/{drill,roles}.test.ts',
    'test/store/{pgbouncer,postgres_image}.test.ts',
    'test/setup/rotate_passwords.test.ts',
    'test/api/main.test.ts',
    'test/api/source/versitygw.test.ts',
    'test/doctor/probes.test.ts',
  ],
  [
    'a recount over random histories, and every version of every tool (30)',
    'test/store/{part_of_address,rollups}.test.ts',
    'test/tools/outputs.test.ts',
  ],
];

export const ON_CLUSTER: Part = ['cluster', 'faults', 'hostile_callers', 'hostility'].map(
  (folder) => [`on the cluster: ${folder}`, `test/${folder}/**/*.test.ts`] as const,
);

/** Beside the tests on the cluster, with which they share folders and images: these run at once. */
export const BESIDE_CLUSTER: Part = [
  ['images', 'test/images/**/*.test.ts'],
  ['the node, without one', 'test/cluster/node/{build_key,chart,links,processes,readings}.test.ts'],
  ['the product on servers of their own', 'test/faults/{runner_answers_twice,watch_frozen}.test.ts'],
  ['no server at all', 'test/faults/soak/*.test.ts', 'test/hostility/network_policy.test.ts'],
];

/** On the cluster. Seconds, one after the other, where all files took 1,532. */
export const SLOW_ON_CLUSTER: Part = [
  ['the figures of docs/reports/hostility.md, in their short form (117)', 'test/hostility/neighbour/*.test.ts'],
  [
    'the release is upgraded, rolled back, and restored from a backup (175)',
    'test/cluster/{backup,helm,tenants}.test.ts',
  ],
  ['two GitOps engines apply the release, where their libraries are built (60)', 'test/cluster/gitops.test.ts'],
  ['pools roll twice under load (82)', 'test/cluster/rolling.test.ts'],
  ['images that hang take a minute to be judged (65)', 'test/cluster/broken_tools.test.ts'],
  ['another node beside this one (119)', 'test/cluster/node/{lifecycle,simulated}.test.ts'],
  ['a browser (52)', 'test/cluster/console_views.test.ts'],
  ['Prometheus scrapes twice before it knows a rate (48)', 'test/cluster/prometheus.test.ts'],
  ['doctor starts pods (38)', 'test/cluster/doctor.test.ts'],
  ['keys, proxies and nodes are changed, and changed back (54)', 'test/hostility/trust_cluster.test.ts'],
];

const patternsOf = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => part.flatMap(([, ...patterns]) => patterns));

/** The files of a part that are in none of `others`. */
function filesOfPart(root: string, part: Part, ...others: Part[]): string[] {
  const elsewhere = new Set(filesOf(root, patternsOf(others)));
  return filesOf(root, patternsOf([part])).filter((file) => !elsewhere.has(file));
}

/** The files of each run of mocha, by name. Every test file is in one of them. */
export const runsOf = (
  root: string,
): Record<'checks' | 'unit' | 'beside' | 'cluster' | 'slow' | 'slowCluster', string[]> => ({
  checks: filesOfPart(root, CHECKS),
  unit: filesOfPart(root, ALONE, CHECKS, SLOW_ALONE, ON_CLUSTER, BESIDE_CLUSTER),
  beside: filesOfPart(root, BESIDE_CLUSTER),
  cluster: filesOfPart(root, ON_CLUSTER, BESIDE_CLUSTER, SLOW_ON_CLUSTER),
  slow: filesOfPart(root, SLOW_ALONE),
  slowCluster: filesOfPart(root, SLOW_ON_CLUSTER),
});
