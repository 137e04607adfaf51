/**
 * What another account's jobs wait for while hundreds of jobs are created with kubectl: from the creation of a ProbeJob
 * until its runner begins. The leader, the API server and Postgres are real, runners are simulated.
 * Run: npm exec -- node bench/scale/by_hand.ts [jobs by hand] [rounds]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PROBE_JOBS } from '../../src/kube/client.ts';
import { startCluster, stopServers } from '../../test/controller/cluster_parts.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import { until } from '../../test/until.ts';
import { summary } from '../statistics.ts';

const [byHand = '400', rounds = '3'] = process.argv.slice(2);
const EVERY_MS = 50;
const MEASURED = 100;
const RUNNERS = 20;

const cluster = await startCluster({ pools: { short: { minReady: RUNNERS, maxPods: RUNNERS } } });
try {
  const { kube, namespace, runners, submit, create, newAccount, newToken, controller, ready, ended } = cluster;
  runners.behaviour.go = () => ({ ms: 20 });
  await controller({ quiet: true, env: { PY_BY_HAND_PER_MINUTE: '100000' } });
  await ready(RUNNERS, 60_000);
  const token = await newToken(100, await newAccount());

  const byHandOnce = (name: string) =>
    kube.create(PROBE_JOBS, {
      metadata: { name, namespace },
      spec: {
        kind: 'file',
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe', version: '7.0' }],
      },
    });

  /** Milliseconds until each of the account's jobs began, one every `EVERY_MS`. */
  const measure = async (): Promise<number[]> => {
    const jobs = [];
    for (let made = 0; made < MEASURED; made++) jobs.push(await submit({ token, create: false }));
    const waited: Promise<number>[] = [];
    for (const job of jobs) {
      waited.push(
        (async () => {
          await create(job);
          const at = performance.now();
          await until('it begins', () => runners.began.some((one) => one.job === job.id), 60_000);
          return performance.now() - at;
        })(),
      );
      await delay(EVERY_MS);
    }
    const all = await Promise.all(waited);
    await ended(...jobs.map(({ id }) => id));
    return all;
  };

  for (let round = 1; round <= Number(rounds); round++) {
    const alone = summary(await measure());
    const creating = Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        for (let at = worker; at < Number(byHand); at += 8) await byHandOnce(`hand-${round}-${at}`);
      }),
    );
    const beside = summary(await measure());
    await creating;
    console.log(
      `round ${round}: alone p50 ${alone.p50.toFixed(0)} p99 ${alone.p99.toFixed(0)} ms, ` +
        `beside ${byHand} by hand p50 ${beside.p50.toFixed(0)} p99 ${beside.p99.toFixed(0)} ms`,
    );
    await delay(5_000);
  }
} finally {
  await cluster.stop();
  await stopServers();
  await stopApiServers();
}
