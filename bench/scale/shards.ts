/**
 * Two leaders beside one, with simulated runners: a queue of many accounts is drained by one leader, and by two, each
 * of which has half of the accounts (shard.ts). Results are collected by one more process, so that a leader's CPU is
 * that of leading alone. Says what a job costs each leader's thread, how long runners are idle while the other shard
 * waits, and how long the jobs of a leader that is killed wait for the other.
 * Run: npm exec -- node bench/scale/shards.ts [even|skewed|takeover...]
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, stopServers, type Cluster } from '../../test/controller/cluster_parts.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import { until } from '../../test/until.ts';
import { capacity, type PartCost } from '../cluster/capacity.ts';
import { fill } from './jobs.ts';
import { cpuByCommand, filledCompileCache, givenOf, startProcess } from './process.ts';
import { SHARD, shardOf } from './shard.ts';
import type { ShardCost, ShardGiven, Told } from './shard_process.ts';

const PROGRAM = new URL('shard_process.ts', import.meta.url).pathname;
const ACCOUNTS = 100;
const LIMIT = 1;
const RUNNERS = 20;
const LOOK_MS = 100;
const WITHIN_MS = 600_000;
/**
 * CPU of a job in an installation whose callers ask for one at a time (docs/reports/measurements.md, throughput, scope
 * account) and of its tool. The leader's has half of the results in it, which `COLLECTING` takes out.
 */
const INSTALLED: PartCost[] = Object.entries({
  'kube-apiserver': 16.6,
  tool: 6.5,
  agent: 6,
  'api of many replicas': 4.5,
  etcd: 3.2,
  'nats-server': 2.1,
  containerd: 1.7,
  postgres: 1.6,
  following: 1.5,
}).map(([name, msPerJob]) => ({ label: `- ${name}`, msPerJob, threadMs: 0 }));
const LEADING = { msPerJob: 5.5, threadMs: 4.55 };
const CORES = [8, 16, 32, 64];

interface Scenario {
  name: string;
  leaders: number;
  jobs: number;
  jobMs: number;
  /** Of the accounts, in the first of two shards. */
  first: number;
  lends?: boolean;
  kill?: boolean;
}

/** As many for each leader: its first thousand cost more than those that follow. */
const JOBS = Number(process.env['JOBS'] ?? 2_000);
const EVEN = { jobMs: 5, first: 0.5 };
const SKEWED = { jobs: 600, jobMs: 500, first: 0.9, leaders: 2 };
const SCENARIOS: Record<string, Scenario[]> = {
  even: [
    { name: 'one leader', leaders: 1, jobs: JOBS, ...EVEN },
    { name: 'two leaders', leaders: 2, jobs: 2 * JOBS, lends: true, ...EVEN },
  ],
  skewed: [
    { ...SKEWED, name: 'one leader, jobs of 500 ms', leaders: 1 },
    { ...SKEWED, name: 'two leaders, jobs of 500 ms, nine tenths in one shard, nothing lent' },
    { ...SKEWED, name: 'the same with loans', lends: true },
  ],
  takeover: [{ ...EVEN, name: 'takeover', leaders: 2, jobs: JOBS, lends: true, kill: true, jobMs: 50 }],
};

async function tell(child: ChildProcess, told: Told): Promise<ShardCost> {
  child.send(told);
  const [answer] = (await once(child, 'message', { signal: AbortSignal.timeout(60_000) })) as [ShardCost];
  return answer;
}

/** Accounts with one token each; by token the shard. */
async function makeTokens(cluster: Cluster, first: number): Promise<Map<number, number>> {
  const tokens = new Map<number, number>();
  const left = [Math.round(ACCOUNTS * first), Math.round(ACCOUNTS * (1 - first))];
  while (left.some((count) => count > 0)) {
    const account = await cluster.newAccount();
    const shard = shardOf(account, 2);
    if (left[shard]! <= 0) continue;
    left[shard]! -= 1;
    tokens.set(await cluster.newToken(LIMIT, account), shard);
  }
  return tokens;
}

interface Drained {
  ms: number;
  before: ShardCost[];
  after: ShardCost[];
  /** Runners that were idle while jobs of the other shard waited for one, times seconds. */
  idleSeconds: number;
  /** When the first leader was killed. */
  killedAt: number | undefined;
}

const costs = (processes: readonly ChildProcess[]): Promise<ShardCost[]> =>
  Promise.all(processes.map((child) => tell(child, { cost: true })));

/** Until no job is left; with `kill` the first leader is killed in the middle. */
async function drain(processes: readonly ChildProcess[], { jobs, kill, leaders }: Scenario): Promise<Drained> {
  const live = [...processes];
  const before = await costs(live);
  const started = performance.now();
  let at = started;
  let idleSeconds = 0;
  let killedAt: number | undefined;
  for (;;) {
    await pause(LOOK_MS);
    const after = await costs(live);
    const shards = after.flatMap((cost) => cost.shards);
    const now = performance.now();
    for (const { index } of shards.filter(({ starved }) => starved))
      for (const other of shards) if (other.index !== index) idleSeconds += (other.idle * (now - at)) / 1000;
    at = now;
    const left = shards.reduce((sum, { waiting, running }) => sum + waiting + running, 0);
    if (shards.length === leaders && left === 0) return { ms: now - started, before, after, idleSeconds, killedAt };
    if (kill && killedAt === undefined && left < jobs / 2) {
      live.shift()!.kill('SIGKILL');
      killedAt = performance.now();
    }
    if (now - started > WITHIN_MS) throw new Error(`${left} jobs still wait`);
  }
}

/** A process for each leader, which leads, and the collector. */
async function startAll(cluster: Cluster, compiled: string, { leaders, lends = false, kill, jobs }: Scenario) {
  const start: ShardGiven = { ...givenOf(cluster), of: leaders, lends };
  const collector = startProcess(compiled, PROGRAM);
  const processes = Array.from({ length: leaders }, () => startProcess(compiled, PROGRAM));
  for (const child of [collector, ...processes]) await tell(child, { start });
  await tell(collector, { collect: true });
  for (const [index, child] of processes.entries()) await tell(child, kill ? { stand: index } : { lead: index });
  const lead = async (): Promise<boolean> =>
    (await costs(processes)).flatMap(({ shards }) => shards).reduce((sum, { waiting }) => sum + waiting, 0) === jobs;
  await until('all lead, and have their jobs', lead, 120_000);
  if (kill) await tell(processes[1]!, { stand: 0 });
  return { collector, processes };
}

const each = (ms: number, jobs: number): string => (ms / jobs).toFixed(2);

function report(scenario: Scenario, drained: Drained, done: readonly number[], around: Map<string, number>): number {
  const { name, jobs } = scenario;
  const { ms, before, after, idleSeconds } = drained;
  const threads = after.map(({ threadMs }, index) => threadMs - before[index]!.threadMs);
  const cpus = after.map(({ cpuMs }, index) => cpuMs - before[index]!.cpuMs);
  console.log(
    `${name}: ${jobs} jobs, ${Math.round((jobs / ms) * 1000)}/s; thread of each leader ` +
      `${threads.map((thread, index) => each(thread, done[index]!)).join(', ')} ms a job of its own, all of its CPU ` +
      `${cpus.map((cpu, index) => each(cpu, done[index]!)).join(', ')}; others, ms a job: ` +
      `${[...around].map(([command, sum]) => `${command} ${each(sum, jobs)}`).join(', ')}; idle while the other ` +
      `waits: ${idleSeconds.toFixed(1)} runner seconds; ` +
      `lent ${after.reduce((sum, { given }) => sum + given, 0)} times; ` +
      `terms ${after.flatMap(({ shards }) => shards.map(({ epoch }) => epoch)).join(', ')}`,
  );
  return threads.reduce((sum, thread) => sum + thread, 0) / jobs;
}

/** `more`: what a job costs one of two leaders beside what it costs one. */
function model(more: number, collecting: number): void {
  const leaders = (count: number, less: number, times = 1): PartCost[] =>
    Array.from({ length: count }, (_, index) => ({
      label: `controller ${index}`,
      msPerJob: (LEADING.msPerJob * times) / count,
      threadMs: ((LEADING.threadMs - less) * times) / count,
    }));
  const cases = {
    'one leader, which collects half of the results': leaders(1, 0),
    'one leader, which leads alone': leaders(1, collecting / 2),
    'two leaders, which lead alone': leaders(2, collecting / 2, more),
  };
  for (const [what, parts] of Object.entries(cases))
    for (const cores of CORES) {
      const { rate, bound } = capacity([...INSTALLED, ...parts], cores);
      console.log(`model, ${what}, ${cores} cores: ${Math.round(rate)} jobs/s, bound by ${bound}`);
    }
}

/** What a job costs the threads of the leaders, and the collector. */
async function run(scenario: Scenario, compiled: string): Promise<{ leading: number; collecting: number }> {
  const { jobs, jobMs, first, leaders } = scenario;
  const began: { job: string; at: number }[] = [];
  const go = ({ job }: { job: string }) => {
    began.push({ job, at: performance.now() });
    return { ms: jobMs };
  };
  const cluster = await startCluster({
    pools: { short: { minReady: 0, maxPods: 0 } },
    runners: { go, heartbeatMs: 2_000 },
  });
  const children: ChildProcess[] = [];
  try {
    const tokens = await makeTokens(cluster, first);
    const shards = new Map<string, number>();
    const labels = (token: number, id: string) => {
      shards.set(id, leaders === 1 ? 0 : tokens.get(token)!);
      return { [SHARD]: String(shards.get(id)) };
    };
    await fill(cluster, [...tokens.keys()], jobs, { labels });
    const { collector, processes } = await startAll(cluster, compiled, scenario);
    children.push(collector, ...processes);
    const before = cpuByCommand();
    const [collected] = await costs([collector]);
    await cluster.setPool('short', { minReady: RUNNERS, maxPods: RUNNERS });
    const drained = await drain(processes, scenario);
    const [ended] = await costs([collector]);
    const around = new Map<string, number>([['collector', ended!.cpuMs - collected!.cpuMs]]);
    for (const [command, sum] of cpuByCommand())
      if (/apiserver|etcd|nats|postgres/.test(command)) around.set(command, sum - (before.get(command) ?? 0));
    const { killedAt } = drained;
    let leading = 0;
    if (killedAt === undefined) {
      const done = Array.from(
        { length: leaders },
        (_, index) => [...shards.values()].filter((of) => of === index).length,
      );
      leading = report(scenario, drained, done, around);
    } else {
      const later = began.filter(({ at }) => at > killedAt);
      const own = later.filter(({ job, at }) => shards.get(job) === 0 && at > killedAt + 500);
      const others = later.filter(({ job }) => shards.get(job) === 1);
      const gaps = others.map(({ at }, index) => at - (others[index - 1]?.at ?? killedAt));
      console.log(
        `${scenario.name}: the first job of the killed leader's shard began after ` +
          `${((own[0]!.at - killedAt) / 1000).toFixed(1)} s; the longest pause of the other's: ` +
          `${Math.max(...gaps).toFixed(0)} ms`,
      );
    }
    const ends = await cluster.servers.stored.sql<{ state: string; reason: string; count: string }>(
      'select state, reason, count(*) from requests where token_id = any($1) group by state, reason',
      [[...tokens.keys()]],
    );
    const most = Math.max(...[...tokens.keys()].map((token) => cluster.most(token)));
    const twice = began.length - new Set(began.map(({ job }) => job)).size;
    const said = ends.map(({ state, reason, count }) => `${state} ${reason} ${count}`).join(', ');
    console.log(`  of ${jobs}: ${said}; begun more than once ${twice}; most of a token ${most} of ${LIMIT}`);
    return { leading, collecting: around.get('collector')! / jobs };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await cluster.stop();
  }
}

const compiled = await filledCompileCache();
try {
  const names = process.argv.slice(2);
  for (const name of names.length > 0 ? names : Object.keys(SCENARIOS)) {
    const done = [];
    for (const scenario of SCENARIOS[name] ?? []) done.push(await run(scenario, compiled));
    const [one, two] = done;
    if (name === 'even') model(two!.leading / one!.leading, one!.collecting);
  }
} finally {
  await rm(compiled, { recursive: true });
  await stopServers();
  await stopApiServers();
}
process.exit();
