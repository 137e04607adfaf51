/**
 * How many finished ProbeJobs stay in etcd while jobs come as fast as this machine creates and finishes them, and how
 * fast a backlog goes: the real class, API server and etcd.
 * Run: npm exec -- node bench/kube/finished.ts [seconds] [jobs.finished.max] [backlog]
 */
import { randomUUID } from 'node:crypto';
import { makeFinishedJobs, type FinishedJobs } from '../../src/service/controller/leader/finished_jobs.ts';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';
import { isFinished } from '../../src/platform/kube/conditions.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { keptJob, slimJob } from '../../src/platform/kube/slim.ts';
import { makeLog } from '../../src/base/log.ts';
import { created, endedStatus } from '../../test/controller/ended_job.ts';
import { stopApiServers, testApiServer } from '../../test/kube/apiserver.ts';
import { childrenOf } from '../../test/processes.ts';
import { until } from '../../test/until.ts';
import { cpuOfProcess, nameOfProcess } from '../cluster/cpu.ts';

const [seconds = 60, finishedMax = 2_000, backlog = 2_000] = process.argv.slice(2).map(Number);
const WRITERS = 24;

const server = await testApiServer({ own: true, fsync: true });
const namespace = await server.namespace('bench');
const kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
const cpuOf = (name: string): number =>
  childrenOf(process.pid)
    .filter((pid) => nameOfProcess(pid) === name)
    .reduce((sum, pid) => sum + cpuOfProcess(pid), 0) / 1e6;

const makeFinished = (max: number): FinishedJobs =>
  makeFinishedJobs({
    kube,
    epoch: 1,
    limits: { finishedSeconds: 600, finishedMax: max, finishedByHandSeconds: 0 },
    log: makeLog('controller', { podName: 'bench', logLevel: 'warn' }),
    now: () => Date.now(),
    stillLeading: () => true,
  });
let finished = makeFinished(finishedMax);
let deleted = 0;
const jobs = startReflector<ProbeJob>({
  client: kube,
  type: PROBE_JOBS,
  namespace,
  transform: slimJob,
  keep: keptJob,
  handlers: {
    update: (job) => isFinished(job.status) && finished.add(job),
    delete: (job) => {
      deleted += 1;
      finished.forget(job);
    },
  },
});
await jobs.synced;

let made = 0;
async function write(goOn: () => boolean): Promise<void> {
  while (goOn()) {
    made += 1;
    const name = randomUUID();
    const job = created(name);
    job.spec.source = { display: 'https://origin.example/a.mp4', sealed: 'x'.repeat(1_200) };
    await kube.create(PROBE_JOBS, job);
    await kube.mergePatchStatus(PROBE_JOBS, name, endedStatus(Date.now(), finished.nextBatch(namespace)));
  }
}
const writeAll = (goOn: () => boolean): Promise<unknown> =>
  Promise.all(Array.from({ length: WRITERS }, () => write(goOn)));

try {
  finished.start();
  const from = performance.now();
  const spent = (): number => (performance.now() - from) / 1000;
  let most = 0;
  const shown = setInterval(() => {
    most = Math.max(most, jobs.size);
    console.log(`${spent().toFixed(0)} s: ${made} made, ${deleted} deleted, ${jobs.size} in etcd`);
  }, 5_000);
  await writeAll(() => spent() < seconds);
  clearInterval(shown);
  console.log(`${(made / spent()).toFixed(0)} jobs/s, at most ${most} in etcd`);

  finished.stop();
  finished = makeFinished(0);
  const goal = made + backlog;
  await writeAll(() => made < goal);
  await until('all are known', () => finished.size() >= backlog, 60_000);
  const [count, began] = [finished.size(), performance.now()];
  const [server0, etcd0, own0] = [cpuOf('kube-apiserver'), cpuOf('etcd'), process.cpuUsage()];
  finished.start();
  await until('the backlog is deleted', () => finished.size() === 0, 600_000);
  const own = process.cpuUsage(own0);
  const each = (ms: number): string => (ms / count).toFixed(2);
  console.log(
    `${count} deleted at ${((count / (performance.now() - began)) * 1000).toFixed(0)}/s; CPU of each: API server ` +
      `${each(cpuOf('kube-apiserver') - server0)} ms, etcd ${each(cpuOf('etcd') - etcd0)}, leader ` +
      `${each((own.user + own.system) / 1000)}`,
  );
} finally {
  finished.stop();
  await jobs.stop();
  await kube.close();
  await stopApiServers();
}
