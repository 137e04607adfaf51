/**
 * What parts of the ProbeJob's definition cost the API server: its CPU time per job (create, admit, finish, delete)
 * beside the definition as it is, in short turns, and the ratio of each turn. Then what a delete costs, alone, four at
 * once, and by one call for a batch. Run: npm exec -- node bench/kube/fields.ts [jobs per turn] [turns] [variant,...]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { customResourceDefinition } from '../../charts/crds.ts';
import { admittedStatus, finishedStatus } from '../../src/service/controller/leader/job_status.ts';
import {
  CRDS,
  type KubeClient,
  type KubeObject,
  PROBE_JOBS,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';
import { PROBE_JOB, type ProbeJob, type ProbeJobStatus } from '../../src/platform/kube/probe_job.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { stopApiServers, testApiServer } from '../../test/kube/apiserver.ts';
import { childrenOf } from '../../test/processes.ts';
import { until } from '../../test/until.ts';
import { cpuOfProcess, nameOfProcess } from '../cluster/cpu.ts';
import { median, summary } from '../statistics.ts';

const [jobs = 15, turns = 14] = process.argv.slice(2, 4).map(Number);
const only = process.argv[4]?.split(',');

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

async function oneJob(client: KubeClient, type: ResourceType<ProbeJob>, name: string): Promise<void> {
  const write = (status: ProbeJobStatus, { metadata: { resourceVersion } }: ProbeJob): Promise<ProbeJob> =>
    client.mergePatchStatus(type, name, status, { namespace, resourceVersion, serverTimeoutMs: 1500 });
  const now = new Date().toISOString();
  const created = await client.create(type, { metadata: { name, namespace }, spec });
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
  const finish = { reason: 'Completed' as const, summary: 'completed', tools: ran, resultPath, batch: '4-1' };
  await write(finishedStatus(admitted.status, finish, now), admitted);
  await client.delete(type, name, { namespace });
}

type Schema = Record<string, unknown> & { properties: Record<string, unknown> };
interface Version {
  selectableFields?: unknown;
  schema: { openAPIV3Schema: Schema };
}
interface Crd {
  spec: { versions: Version[] };
}

const without = (crd: Crd, ...keywords: string[]): Crd =>
  JSON.parse(JSON.stringify(crd), (key, value: unknown) => (keywords.includes(key) ? undefined : value)) as Crd;
const ANYTHING = { type: 'object', 'x-kubernetes-map-type': 'atomic', 'x-kubernetes-preserve-unknown-fields': true };
const open = (crd: Crd, ...members: string[]): void => {
  for (const version of crd.spec.versions) {
    for (const member of members) version.schema.openAPIV3Schema.properties[member] = ANYTHING;
    if (members.includes('spec')) delete version.selectableFields;
  }
};
const BOUNDS = [
  'maxLength',
  'minLength',
  'format',
  'enum',
  'minimum',
  'maximum',
  'pattern',
  'minItems',
  'maxProperties',
];

/** Each is the same kind under another name, with a change. The first is what the others are compared with. */
const VARIANTS: Record<string, (crd: Crd) => Crd | void> = {
  asItIs: () => {},
  // Who wrote each field is noted, and not only who wrote spec and status.
  eachField: (crd) => without(crd, 'x-kubernetes-map-type'),
  noRules: (crd) => without(crd, 'x-kubernetes-validations'),
  noSelection: (crd) => without(crd, 'selectableFields'),
  noBounds: (crd) => without(crd, 'x-kubernetes-validations', ...BOUNDS),
  openStatus: (crd) => open(crd, 'status'),
  open: (crd) => open(crd, 'spec', 'status'),
  // The definition as it is, by another client.
  http1: () => {},
};

const quiet = async (): Promise<void> => {
  // The server works out its description of all resources anew.
  for (let still = 0; still < 3;) {
    const before = cpuOf('kube-apiserver');
    await delay(1_000);
    still = cpuOf('kube-apiserver') - before < 150 ? still + 1 : 0;
  }
};

async function define(name: string): Promise<ResourceType<ProbeJob>> {
  const kind = `${name[0]!.toUpperCase()}${name.slice(1)}Job`;
  const type: ResourceType<ProbeJob> = { ...PROBE_JOBS, kind, plural: `${kind.toLowerCase()}s` };
  const described = { ...PROBE_JOB, kind, plural: type.plural, short: name.toLowerCase() };
  const crd = JSON.parse(JSON.stringify(customResourceDefinition(described))) as Crd;
  const changed = VARIANTS[name]!(crd) ?? crd;
  await server.client.apply(CRDS, changed as unknown as KubeObject, { fieldManager: 'test', force: true });
  await until(`${kind} is served`, () => server.client.list(type, { namespace }), 60_000);
  return type;
}

interface Cost {
  api: number[];
  etcd: number[];
  client: number[];
}
const costs = new Map<string, Cost>();
async function counted(key: string, count: number, work: () => Promise<unknown>): Promise<void> {
  const used = (): [number, number, number] => {
    const { user, system } = process.cpuUsage();
    return [cpuOf('kube-apiserver'), cpuOf('etcd'), (user + system) / 1000];
  };
  const before = used();
  await work();
  const [api, etcd, client] = used().map((ms, index) => (ms - before[index]!) / count) as [number, number, number];
  const cost = costs.get(key) ?? { api: [], etcd: [], client: [] };
  costs.set(key, cost);
  cost.api.push(api);
  cost.etcd.push(etcd);
  cost.client.push(client);
}

const print = (keys: readonly string[]): void => {
  const base = costs.get(keys[0]!)!;
  for (const key of keys) {
    const { api, etcd, client } = costs.get(key)!;
    const ratio = summary(api.map((ms, turn) => ms / base.api[turn]!));
    console.log(
      `${key.padEnd(16)} API server ${median(api).toFixed(2)} ms, ` +
        `${ratio.p50.toFixed(2)} x (${ratio.least.toFixed(2)} ` +
        `to ${ratio.most.toFixed(2)}); etcd ${median(etcd).toFixed(2)}; client ${median(client).toFixed(2)}`,
    );
  }
};

async function inTurns(keys: readonly string[], work: (key: string, turn: number) => Promise<void>): Promise<void> {
  for (let turn = 0; turn < turns; turn++)
    for (const key of turn % 2 === 0 ? keys : keys.toReversed()) await work(key, turn);
}

const clients = {
  2: await kubeClient({ kubeconfig: server.kubeconfig, namespace }),
  1: await kubeClient({ kubeconfig: server.kubeconfig, namespace, http2: false }),
};
const names = Object.keys(VARIANTS).filter((name) => name === 'asItIs' || (only?.includes(name) ?? true));
const types = new Map<string, ResourceType<ProbeJob>>();
for (const name of names) types.set(name, await define(name));
await quiet();
// As two controllers do.
const reflectors = [...types.values()]
  .flatMap((type) => [type, type])
  .map((type) => startReflector({ client: server.client, type, namespace }));
try {
  await Promise.all(reflectors.map(({ synced }) => synced));
  const run = async (name: string, prefix: string): Promise<void> => {
    const client = clients[name === 'http1' ? 1 : 2];
    for (let i = 0; i < jobs; i++) await oneJob(client, types.get(name)!, `${prefix}-${i}`);
  };
  for (const name of names) await run(name, 'warm');
  await inTurns(names, (name, turn) => counted(name, jobs, () => run(name, `job-${turn}`)));
  console.log('create, admit, finish and delete, per job');
  print(names);

  const type = types.get('asItIs')!;
  const deleteOne = (name: string): Promise<void> => clients[2].delete(type, name, { namespace });
  const DELETES: Record<string, (made: string[]) => Promise<unknown>> = {
    fourAtOnce: async (made) => {
      const queue = made.values();
      const worker = async (): Promise<void> => {
        for (const name of queue) await deleteOne(name);
      };
      await Promise.all([worker(), worker(), worker(), worker()]);
    },
    oneAtATime: async (made) => {
      for (const name of made) await deleteOne(name);
    },
    batch: () => clients[2].deleteAll(type, 'status.batch=1-1', { namespace }),
  };
  await inTurns(Object.keys(DELETES), async (key, turn) => {
    const made = Array.from({ length: 50 }, (_, index) => `${key.toLowerCase()}-${turn}-${index}`);
    for (const name of made)
      await clients[2]
        .create(type, { metadata: { name, namespace }, spec })
        .then(() => clients[2].mergePatchStatus(type, name, { batch: '1-1' }, { namespace }));
    await counted(key, made.length, () => DELETES[key]!(made));
  });
  console.log('a delete of 50');
  print(Object.keys(DELETES));
} finally {
  await Promise.all(reflectors.map((reflector) => reflector.stop()));
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await stopApiServers();
}
