/**
 * What it costs the API server to note who wrote each field of a ProbeJob, beside noting it for spec and status as a
 * whole: CPU time per job (create, admit, finish, delete), in turns, and the size of a finished object.
 * Run: npm exec -- node bench/kube/fields.ts [jobs per turn] [turns]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { customResourceDefinition } from '../../charts/crds.ts';
import { admittedStatus, finishedStatus } from '../../src/controller/leader/job_status.ts';
import { CRDS, type KubeObject, PROBE_JOBS, type ResourceType } from '../../src/kube/client.ts';
import { PROBE_JOB, type ProbeJob, type ProbeJobStatus } from '../../src/kube/probe_job.ts';
import { startReflector } from '../../src/kube/reflector.ts';
import { stopApiServers, testApiServer } from '../../test/kube/apiserver.ts';
import { childrenOf } from '../../test/processes.ts';
import { until } from '../../test/until.ts';
import { cpuOfProcess, nameOfProcess } from '../cluster/cpu.ts';
import { summary } from '../statistics.ts';

const [jobs = 300, turns = 4] = process.argv.slice(2).map(Number);

/** CPU time in ms of this process's children with that name. */
const cpuOf = (name: string): number =>
  childrenOf(process.pid)
    .filter((pid) => nameOfProcess(pid) === name)
    .reduce((sum, pid) => sum + cpuOfProcess(pid), 0) / 1e6;

const server = await testApiServer({ own: true, fsync: true });
const namespace = await server.namespace('bench');
const tools = [
  { name: 'ffprobe' as const, version: '9.0' },
  { name: 'mediainfo' as const, version: '26.10' },
];
const spec: ProbeJob['spec'] = {
  kind: 'file',
  source: { display: 'https://origin.example/a.mp4', sealed: 'x'.repeat(1200) },
  token: { id: 17, user: 3 },
  submittedAt: new Date().toISOString(),
  queueTimeoutMs: 60_000,
  timeoutMs: 60_000,
  tools,
  report: { enabled: true },
};
const resultPath = '/v1/probe/01990000-0000-7000-8000-000000000000';

async function oneJob(type: ResourceType<ProbeJob>, name: string): Promise<{ ms: number[]; bytes: number }> {
  const ms: number[] = [];
  const timed = async <T>(call: Promise<T>): Promise<T> => {
    const at = performance.now();
    const result = await call;
    ms.push(performance.now() - at);
    return result;
  };
  const write = (status: ProbeJobStatus, { metadata: { resourceVersion } }: ProbeJob): Promise<ProbeJob> =>
    timed(server.client.mergePatchStatus(type, name, status, { namespace, resourceVersion, serverTimeoutMs: 1500 }));
  const now = new Date().toISOString();
  const created = await timed(server.client.create(type, { metadata: { name, namespace }, spec }));
  const admission = {
    holder: 'probeyard-controller-6f7d9c5b8-abcde',
    epoch: 4,
    token: 17,
    account: 3,
    runner: { pod: 'runner-short-abcde', uid: '01990000-0000-4000-8000-000000000000' },
    attempt: 1,
    queueTimeMs: 12,
    resultPath,
    tools,
  };
  const admitted = await write(admittedStatus(undefined, admission, now), created);
  const ran = tools.map((tool) => ({ ...tool, success: true, durationMs: 20 }));
  const finish = { reason: 'Completed' as const, summary: 'completed', tools: ran, resultPath };
  const finished = await write(finishedStatus(admitted.status, finish, now), admitted);
  await timed(server.client.delete(type, name, { namespace }));
  return { ms, bytes: JSON.stringify(finished).length };
}

/** The same kind under another name, with an owner for each field. */
const EACH: ResourceType<ProbeJob> = { ...PROBE_JOBS, kind: 'FieldJob', plural: 'fieldjobs' };

async function defineEach(): Promise<void> {
  const { kind, plural } = EACH;
  const text = JSON.stringify(customResourceDefinition({ ...PROBE_JOB, kind, plural, short: 'fj' }));
  const without = text.replaceAll(',"x-kubernetes-map-type":"atomic"', '');
  if (without === text) throw new Error('the definition has no such mark');
  await server.client.apply(CRDS, JSON.parse(without) as KubeObject, { fieldManager: 'test', force: true });
  await until('the kind is served', () => server.client.list(EACH, { namespace }), 30_000);
  // The server works out its description of all resources anew.
  for (let quiet = 0; quiet < 3;) {
    const before = cpuOf('kube-apiserver');
    await delay(1_000);
    quiet = cpuOf('kube-apiserver') - before < 100 ? quiet + 1 : 0;
  }
}

const rows = new Map<string, { cpu: number[]; etcd: number[]; ms: number[][]; bytes: number }>();
await defineEach();
const reflectors = [EACH, EACH, PROBE_JOBS, PROBE_JOBS].map((type) =>
  startReflector({ client: server.client, type, namespace }),
);
try {
  await Promise.all(reflectors.map(({ synced }) => synced));
  for (let turn = 0; turn < turns * 2; turn++) {
    const [key, type] = turn % 2 === 0 ? (['each field', EACH] as const) : (['as a whole', PROBE_JOBS] as const);
    for (let i = 0; i < 20; i++) await oneJob(type, `warm-${turn}-${i}`);
    const row = rows.get(key) ?? { cpu: [], etcd: [], ms: [[], [], [], []], bytes: 0 };
    rows.set(key, row);
    const [cpu, etcd] = [cpuOf('kube-apiserver'), cpuOf('etcd')];
    for (let i = 0; i < jobs; i++) {
      const { ms, bytes } = await oneJob(type, `job-${turn}-${i}`);
      ms.forEach((value, n) => row.ms[n]!.push(value));
      row.bytes = bytes;
    }
    row.cpu.push((cpuOf('kube-apiserver') - cpu) / jobs);
    row.etcd.push((cpuOf('etcd') - etcd) / jobs);
  }
  for (const [key, { cpu, etcd, ms, bytes }] of rows) {
    const p50 = ms.map((values) => summary(values).p50.toFixed(1));
    const each = (values: number[]): string => values.map((value) => value.toFixed(1)).join(', ');
    console.log(
      `${key}: API server ${each(cpu)} ms of CPU per job, etcd ${each(etcd)}; create, admit, finish, delete ` +
        `${p50.join(', ')} ms; a finished object has ${bytes} bytes`,
    );
  }
} finally {
  await Promise.all(reflectors.map((reflector) => reflector.stop()));
  await stopApiServers();
}
