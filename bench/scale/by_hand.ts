/**
 * How long the intake of another account's jobs takes while hundreds of jobs are created with kubectl: from the moment
 * that the leader sees a job until it is in the queue. Leader, API server and Postgres are real; nothing runs.
 * Run: npm exec -- node bench/scale/by_hand.ts [jobs by hand] [rounds]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Leader } from '../../src/service/controller/leader/leader.ts';
import { Ledger } from '../../src/service/controller/leader/ledger.ts';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { endAll } from '../../test/at_end.ts';
import { startCluster, type Submitted } from '../../test/controller/cluster_parts.ts';
import { until } from '../../test/until.ts';
import { summary } from '../statistics.ts';

const [byHand = '400', rounds = '3'] = process.argv.slice(2);
const EVERY_MS = 20;
const MEASURED = 100;
const CREATORS = 8;

const seen = new Map<string, number>();
const queued = new Map<string, number>();
const { seen: see } = Leader.prototype;
Leader.prototype.seen = function noteSeen(job) {
  if (!seen.has(job.metadata.name)) seen.set(job.metadata.name, performance.now());
  see.call(this, job);
};
const { enqueue } = Ledger.prototype;
Ledger.prototype.enqueue = function noteQueued(entry, limits) {
  queued.set(entry.key, performance.now());
  enqueue.call(this, entry, limits);
};

const cluster = await startCluster({ pools: { short: { minReady: 0, maxPods: 0 } } });
try {
  const { kube, namespace, submit, create, newAccount, newToken, controller } = cluster;
  await controller({ quiet: true, env: { PY_BY_HAND_PER_MINUTE: '100000' } });
  const token = await newToken(100, await newAccount());

  const createByHand = async (round: number): Promise<void> => {
    const names = Array.from({ length: Number(byHand) }, (_, at) => `hand-${round}-${at}`).values();
    const next = async (): Promise<void> => {
      for (const name of names)
        await kube.create(PROBE_JOBS, {
          metadata: { name, namespace },
          spec: {
            kind: 'file',
            source: { url: 'https://media.example.org/a.mp4' },
            tools: [{ name: 'ffprobe', version: '7.0' }],
          },
        });
    };
    await Promise.all(Array.from({ length: CREATORS }, next));
  };
  const measure = async (): Promise<string> => {
    const jobs: Submitted[] = [];
    for (let made = 0; made < MEASURED; made++) jobs.push(await submit({ token, create: false }));
    for (const job of jobs) {
      void create(job);
      await delay(EVERY_MS);
    }
    await until('all are queued', () => jobs.every(({ id }) => queued.has(id)), 120_000);
    const { p50, p99 } = summary(jobs.map(({ id }) => queued.get(id)! - seen.get(id)!));
    return `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`;
  };

  for (let round = 1; round <= Number(rounds); round++) {
    const alone = await measure();
    const creating = createByHand(round);
    console.log(`round ${round}: alone ${alone}; beside ${byHand} by hand ${await measure()}`);
    await creating;
  }
} finally {
  await cluster.stop();
  await endAll();
}
