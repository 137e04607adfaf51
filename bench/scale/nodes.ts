/**
 * Many runner pods on many nodes, without kubelets: a control plane with simulated nodes (test/cluster/simulated.ts), a
 * controller in a process of its own, and runners simulated here. Shows how fast a pool grows, what a leader costs
 * while nothing is asked, and what an admission costs it after a takeover.
 * Run: npm exec -- node bench/scale/nodes.ts [nodes] [pods] [jobs]
 */
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { PROBE_POOLS, SERVICE_ACCOUNTS } from '../../src/platform/kube/client.ts';
import { simulatedDown, simulatedUp } from '../../test/cluster/simulated.ts';
import { startCluster, stopServers, type Cluster } from '../../test/controller/cluster_parts.ts';
import { stopApiServers, testApiServer } from '../../test/kube/apiserver.ts';
import { until } from '../../test/until.ts';
import { fill } from './jobs.ts';
import { costOf, cpuByCommand, filledCompileCache, lead, startProcess } from './process.ts';

const [nodes = 1_000, pods = 5_000, jobs = 5_000] = process.argv.slice(2).map(Number);
const TOKENS = 500;
const LIMIT = 10;
const JOB_MS = 5;
const HEARTBEAT_MS = 2_000;
const REST_MS = 30_000;
const WITHIN_MS = 1_800_000;

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** CPU by command since `before`, as shares of a core. */
const sharesSince = (before: Map<string, number>, ms: number): string =>
  [...cpuByCommand()]
    .map(([command, sum]) => [command, (sum - (before.get(command) ?? 0)) / ms] as const)
    .filter(([, share]) => share > 0.01)
    .map(([command, share]) => `${command} ${share.toFixed(2)}`)
    .join(', ');

/** The most that a pool may keep ready. The jobs go to the first pool, as those of one kind do. */
const POOL = 1_000;
const pools = Object.fromEntries(
  Array.from({ length: Math.ceil(pods / POOL) }, (_, index) => {
    const size = Math.min(POOL, pods - index * POOL);
    return [`pool-${index + 1}`, { minReady: size, maxPods: size }];
  }),
);

const readyRunners = async ({ kube, namespace }: Cluster): Promise<number> =>
  (await kube.listAll(PROBE_POOLS, { namespace })).items.reduce((sum, { status }) => sum + (status?.ready ?? 0), 0);

async function grow(cluster: Cluster, compiled: string): Promise<void> {
  const child = startProcess(compiled);
  try {
    const started = performance.now();
    await lead(child, cluster);
    await until(`${pods} runners are ready`, async () => (await readyRunners(cluster)) >= pods, WITHIN_MS);
    const ms = performance.now() - started;
    const grown = await costOf(child);
    console.log(
      `${pods} pods on ${nodes} nodes ready after ${seconds(started)}, ${Math.round((pods / ms) * 1000)}/s; ` +
        `controller ${(grown.cpuMs / pods).toFixed(2)} ms CPU a pod, RSS ${Math.round(grown.rssMb)} MB, ` +
        `peak ${Math.round(grown.peakMb)} MB, event loop late p99 ${grown.lateMs.p99.toFixed(0)} ms, ` +
        `at most ${grown.lateMs.most.toFixed(0)} ms`,
    );
    const before = cpuByCommand();
    await pause(REST_MS);
    const rested = await costOf(child);
    console.log(
      `at rest, ${Math.round((pods / HEARTBEAT_MS) * 1000)} heartbeats/s: controller ` +
        `${((rested.cpuMs - grown.cpuMs) / REST_MS).toFixed(2)} of a core, event loop late p99 ` +
        `${rested.lateMs.p99.toFixed(0)} ms, at most ${rested.lateMs.most.toFixed(0)} ms; ` +
        `cores of all: ${sharesSince(before, REST_MS)}`,
    );
  } finally {
    child.kill('SIGKILL');
  }
}

async function drain(cluster: Cluster, tokens: readonly number[], compiled: string): Promise<void> {
  const child = startProcess(compiled);
  try {
    const started = performance.now();
    await lead(child, cluster);
    const leading = await costOf(child);
    console.log(
      `takeover with ${jobs} waiting jobs: leading after ${seconds(started)}, ${Math.round(leading.cpuMs)} ms CPU, ` +
        `RSS ${Math.round(leading.rssMb)} MB`,
    );
    const before = cpuByCommand();
    const since = performance.now();
    let first: number | undefined;
    let cost = leading;
    let late = 0;
    while (cost.waiting + cost.running > 0) {
      if (performance.now() - since > WITHIN_MS) throw new Error(`${cost.waiting} jobs still wait`);
      await pause(100);
      cost = await costOf(child);
      if (cost.waiting < jobs) first ??= performance.now();
      late = Math.max(late, cost.lateMs.most);
    }
    const ms = performance.now() - (first ?? since);
    const cpu = (cost.cpuMs - leading.cpuMs) / jobs;
    console.log(
      `drained in ${(ms / 1000).toFixed(1)} s, ${Math.round((jobs / ms) * 1000)}/s, first admission after ` +
        `${(((first ?? since) - since) / 1000).toFixed(1)} s; controller ${cpu.toFixed(2)} ms CPU a job, ` +
        `${Math.round(1000 / cpu)} jobs/s of its one thread, peak ${Math.round(cost.peakMb)} MB, event loop late ` +
        `${late.toFixed(0)} ms at most; cores of all: ${sharesSince(before, performance.now() - since)}`,
    );
    const most = Math.max(...tokens.map((token) => cluster.most(token)));
    const states = await cluster.servers.stored.sql<{ state: string; count: string }>(
      'select state, count(*) from requests where token_id = any($1) group by state',
      [tokens],
    );
    console.log(`most of a token ${most}; ends: ${states.map(({ state, count }) => `${state} ${count}`).join(', ')}`);
  } finally {
    child.kill('SIGKILL');
  }
}

const compiled = await filledCompileCache();
try {
  await simulatedDown();
  const { kubeconfig } = await simulatedUp({ nodes });
  await testApiServer({ own: true, kubeconfig });
  const cluster = await startCluster({
    pools,
    runners: { go: () => ({ ms: JOB_MS }), heartbeatMs: HEARTBEAT_MS, boot: 'running' },
  });
  // As the chart makes it: here the API server refuses pods of an account that does not exist.
  await cluster.kube.create(SERVICE_ACCOUNTS, {
    metadata: { name: 'probeyard-runner', namespace: cluster.runnerNamespace },
  });
  await grow(cluster, compiled);
  const tokens: number[] = [];
  for (let made = 0; made < TOKENS; made++) tokens.push(await cluster.newToken(LIMIT));
  await fill(cluster, tokens, jobs);
  await drain(cluster, tokens, compiled);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await rm(compiled, { recursive: true });
  await stopServers();
  await stopApiServers();
  await simulatedDown();
}
process.exit();
