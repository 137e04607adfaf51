/**
 * The leader ends as by SIGTERM, and another replica takes over, while a request begins every 50 ms: how long the
 * longest waited for its admission, and what the replicas did meanwhile. Run: node bench/scale/handover.ts [turns]
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import { startCluster, stopServers, type Cluster } from '../../test/controller/cluster_parts.ts';
import type { Candidate } from '../../test/controller/controller_part.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import { until } from '../../test/until.ts';

const [turns = '5'] = process.argv.slice(2);
const BEAT_MS = 50;
const LOAD_MS = 700;
const STEPS = ['no longer leading', 'elected as leader', 'term started'];

let zero = 0;
const since = (at: number): number => Math.round(at - zero);
const steps: string[] = [];

/** Notes the calls of a replica that are not about single jobs. */
function noting(kube: KubeClient, replica: number): KubeClient {
  const noted = Object.entries(kube).map(([name, call]) => [
    name,
    typeof call !== 'function' || name === 'close'
      ? call
      : async (type: { kind?: string }, ...rest: unknown[]): Promise<unknown> => {
          const began = performance.now();
          const made = (call as (...given: unknown[]) => Promise<unknown>)(type, ...rest);
          const isOfJob = type.kind === 'ProbeJob' && !name.startsWith('list');
          if (!isOfJob && type.kind !== 'Pod' && type.kind !== 'Event' && name !== 'watch') {
            const end = (): void => {
              steps.push(`  ${since(began)} to ${since(performance.now())} ms: ${replica} ${name} ${type.kind ?? ''}`);
            };
            made.then(end, end);
          }
          return made;
        },
  ]);
  return { ...kube, ...(Object.fromEntries(noted) as object) };
}

/** Requests until the admissions go on, by the time that each waited. */
async function load(cluster: Cluster, token: number): Promise<number[]> {
  const waits: Promise<number>[] = [];
  for (const end = performance.now() + LOAD_MS; performance.now() < end; await delay(BEAT_MS))
    waits.push(
      (async () => {
        const { id } = await cluster.submit({ token, announce: true });
        await until(`${id} is admitted`, () => cluster.job(id)?.status?.admittedBy, 30_000);
        return cluster.job(id)?.status?.queueTimeMs ?? 0;
      })(),
    );
  return Promise.all(waits);
}

try {
  const cluster = await startCluster({ pools: { short: { minReady: 5, maxPods: 5 } } });
  cluster.runners.behaviour.go = () => ({ ms: 20 });
  const token = await cluster.newToken(100);
  let made = 0;
  const start = (): Promise<Candidate> => cluster.candidate({ kube: noting(cluster.kube, ++made), env: {} });
  let leader = await start();
  await until('it leads', () => leader.candidacy.term()?.leader.ready === true, 60_000);
  await until('runners are ready', () => cluster.runners.all().filter(({ state }) => state.epoch > 0).length === 5);
  for (let turn = 0; turn < Number(turns); turn++) {
    const next = await start();
    await load(cluster, token);
    steps.length = 0;
    zero = performance.now();
    const began = Date.now();
    const stopped = leader.stop().then(() => since(performance.now()));
    const waits = await load(cluster, token);
    for (const { log } of [leader, next])
      for (const { msg, time } of log)
        if (STEPS.includes(msg) && Number(time) >= began) steps.push(`  ${Number(time) - began} ms: ${msg}`);
    console.log(`turn ${turn}: waited ${Math.max(...waits)} ms at most; stopped after ${await stopped} ms`);
    console.log(steps.toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)).join('\n'));
    leader = next;
  }
  await cluster.stop();
} finally {
  await stopServers();
  await stopApiServers();
}
process.exit();
