/**
 * What a controller pays for jobs in many namespaces: one watch of all of them, or one for each. Prints the time until
 * the caches are complete, and the CPU of the API server and of this process for that and for jobs that come after.
 * Run: npm exec -- node bench/kube/namespaces.ts [namespaces] [jobs in each]
 */
import { randomUUID } from 'node:crypto';
import { NAMESPACES, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { startReflector, type Reflector } from '../../src/platform/kube/reflector.ts';
import { keptJob, slimJob } from '../../src/platform/kube/slim.ts';
import { created } from '../../test/controller/ended_job.ts';
import { testApiServer } from '../../test/kube/apiserver.ts';
import { childrenOf } from '../../test/processes.ts';
import { until } from '../../test/until.ts';
import { cpuOfProcess, nameOfProcess } from '../cluster/cpu.ts';

const [count = 200, each = 10] = process.argv.slice(2).map(Number);
const server = await testApiServer({ alone: true });
const kube = await kubeClient({ kubeconfig: server.kubeconfig });
const names = Array.from({ length: count }, (_, at) => `team-${at}`);
const cpuOf = (name: string): number =>
  childrenOf(process.pid)
    .filter((pid) => nameOfProcess(pid) === name)
    .reduce((sum, pid) => sum + cpuOfProcess(pid), 0) / 1e9;
const cpu = () => ({ server: cpuOf('kube-apiserver'), own: process.cpuUsage().user / 1e6 });

for (const name of names) await kube.create(NAMESPACES, { metadata: { name } });
const createIn = async (namespace: string): Promise<void> => {
  const job = created(randomUUID());
  await kube.create(PROBE_JOBS, { ...job, metadata: { ...job.metadata, namespace } }, { namespace });
};
for (let round = 0; round < each; round++) await Promise.all(names.map(createIn));

for (const [title, scopes] of [
  ['one watch', [null]],
  ['a watch for each', names],
] as const) {
  let seen = 0;
  const [before, began] = [cpu(), performance.now()];
  const caches: Reflector<ProbeJob>[] = scopes.map((namespace) =>
    startReflector<ProbeJob>({
      client: kube,
      type: PROBE_JOBS,
      namespace,
      transform: slimJob,
      keep: keptJob,
      handlers: { add: () => void (seen += 1) },
    }),
  );
  await Promise.all(caches.map(({ synced }) => synced));
  const [synced, ms] = [cpu(), performance.now() - began];
  const listed = seen;
  await Promise.all(names.map(createIn));
  await until('all are seen', () => seen >= listed + count, 20_000).catch(() => console.log(`seen: ${seen - listed}`));
  const after = cpu();
  const of = (from: typeof before, to: typeof before): string =>
    `API server ${(to.server - from.server).toFixed(2)} s, controller ${(to.own - from.own).toFixed(2)} s of CPU`;
  console.log(`${title}: complete with ${listed} jobs after ${Math.round(ms)} ms (${of(before, synced)})`);
  console.log(`${title}: ${count} more jobs: ${of(synced, after)}`);
  for (const cache of caches) await cache.stop();
}
await kube.close();
await server.stop();
