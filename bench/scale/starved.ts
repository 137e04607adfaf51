/**
 * A queue whose jobs have all waited too long when a leader starts, beside an API server or a leader with little CPU.
 * Shows whether the leader progresses with the CPU that there is, and what memory it takes. Needs root and Linux.
 * Run: npm exec -- node bench/scale/starved.ts api|leader|all percent [jobs]
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { isFinished } from '../../src/platform/kube/conditions.ts';
import { endAll } from '../../test/at_end.ts';
import { startCluster } from '../../test/controller/cluster_parts.ts';
import { childrenOf } from '../../test/processes.ts';
import { nameOfProcess, residentMb } from '../cluster/cpu.ts';
import { fill } from './jobs.ts';
import { filledCompileCache, lead, startProcess } from './process.ts';

const [whom = 'api', percent = '20', count = '2500'] = process.argv.slice(2);
const JOBS = Number(count);
const TOKENS = 100;
const RUNNERS = 20;
const LATE_MS = 3_600_000;
const LOOK_MS = 5_000;
const MOST_S = 300;
/** A leader of this size is ended: it does not come back. */
const MOST_MB = 3_000;
const PERIOD_US = 100_000;

/** A cgroup of version 1 or 2. */
function makeGroup(): string {
  const root = existsSync('/sys/fs/cgroup/cpu') ? '/sys/fs/cgroup/cpu' : '/sys/fs/cgroup';
  const folder = `${root}/probeyard-starved-${process.pid}`;
  mkdirSync(folder);
  const quota = Math.round((Number(percent) / 100) * PERIOD_US);
  if (existsSync(`${folder}/cpu.max`)) writeFileSync(`${folder}/cpu.max`, `${quota} ${PERIOD_US}`);
  else writeFileSync(`${folder}/cpu.cfs_quota_us`, String(quota));
  return folder;
}

/** Its processes have ended, apart from this one. */
async function removeGroup(folder: string): Promise<void> {
  writeFileSync(`${folder}/../cgroup.procs`, String(process.pid));
  for (let tries = 0; tries < 50; tries++) {
    try {
      rmdirSync(folder);
      return;
    } catch {
      await delay(100);
    }
  }
  console.log(`left behind: ${folder}`);
}

const descendants = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);

const compiled = await filledCompileCache();
const cluster = await startCluster({ pools: { short: { minReady: RUNNERS, maxPods: RUNNERS } } });
const child = startProcess(compiled);
const group = makeGroup();
try {
  const { kube, namespace } = cluster;
  const tokens: number[] = [];
  for (let made = 0; made < TOKENS; made++) tokens.push(await cluster.newToken(10));
  await fill(cluster, tokens, JOBS, { aheadMs: -LATE_MS });
  const starved = {
    api: () => descendants(process.pid).filter((pid) => nameOfProcess(pid) === 'kube-apiserver'),
    leader: () => [child.pid!],
    all: () => [process.pid, ...descendants(process.pid)],
  }[whom];
  if (!starved) throw new Error(`${whom}: api, leader or all`);
  for (const pid of starved()) writeFileSync(`${group}/cgroup.procs`, String(pid));
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  void lead(child, cluster).then(() => console.log(`leading after ${seconds().toFixed(0)} s`));
  let most = 0;
  for (let left = JOBS; left > 0 && seconds() < MOST_S;) {
    await delay(LOOK_MS);
    const rss = residentMb(child.pid!);
    most = Math.max(most, rss);
    if (rss > MOST_MB) break;
    // From the memory of the API server, so that looking costs it little.
    const { items } = await kube
      .list(PROBE_JOBS, { namespace, resourceVersion: '0', deadlineMs: 60_000 })
      .catch(() => ({ items: undefined }));
    if (items) left = items.filter(({ status }) => !isFinished(status)).length;
    console.log(`${seconds().toFixed(0)} s  ${left} without an end in their status  ${Math.round(rss)} MB`);
  }
  console.log(`${whom} at ${percent} %, ${JOBS} jobs: ${seconds().toFixed(0)} s, ${Math.round(most)} MB at most`);
} finally {
  child.kill('SIGKILL');
  await cluster.stop();
  await rm(compiled, { recursive: true });
  await endAll();
  await removeGroup(group);
}
