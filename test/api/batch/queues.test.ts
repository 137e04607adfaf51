/** Workloads and statuses that an API server refuses. What Kueue does with those that it accepts: kueue.test.ts. */
import assert from 'node:assert/strict';
import pino from 'pino';
import { CRDS, PROBE_BATCHES, type KubeObject, type ResourceType } from '../../../src/platform/kube/client.ts';
import { isTrue, stamp, withTimes } from '../../../src/platform/kube/conditions.ts';
import type { ProbeBatch } from '../../../src/platform/kube/probe_batch.ts';
import type { ProbePool, ProbePoolSpec } from '../../../src/platform/kube/probe_pool.ts';
import { KUEUE_LABEL, WORKLOAD_PRIORITY_CLASSES, WORKLOADS } from '../../../src/platform/kube/workload.ts';
import { Queues, runnerOf } from '../../../src/service/api/batch/kueue.ts';
import { testApiServer, type TestApiServer } from '../../kube/apiserver.ts';
import { refuse } from '../../kube/refusal.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, ONLY } from './fixture.ts';

type Kind = Pick<ResourceType, 'plural' | 'kind' | 'group' | 'version'>;

const crd = ({ plural, kind, group, version }: Kind, scope: string, fields: object): KubeObject =>
  ({
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope,
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', ...fields, 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }) as KubeObject;

const QUEUE_NAME = { type: 'string', maxLength: 5 };
const SPEC = { type: 'object', properties: { queueName: QUEUE_NAME }, 'x-kubernetes-preserve-unknown-fields': true };

async function makeKinds({ client }: TestApiServer): Promise<void> {
  const kinds = [
    crd(WORKLOADS, 'Namespaced', { properties: { spec: SPEC } }),
    crd(WORKLOAD_PRIORITY_CLASSES, 'Cluster', {}),
  ];
  for (const kind of kinds) await client.apply(CRDS, kind, { fieldManager: 'test', force: true });
}

describe('Workloads that are refused', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let queues: Queues;
  let namespace: string;
  before(async () => {
    server = await testApiServer({ alone: true });
    namespace = await server.namespace();
    await makeKinds(server);
    queues = new Queues(
      server.client,
      { kueue: true, namespace, watched: namespace },
      pino({ level: 'silent' }),
      () => {},
    );
    queues.begin();
  });
  after(async () => {
    await queues.end();
    await server.stop();
  });

  const objectOf = (name: string, labels: Partial<Record<keyof typeof KUEUE_LABEL, string>>): ProbeBatch => ({
    apiVersion: 'probeyard.dev/v1alpha1',
    kind: 'ProbeBatch',
    metadata: {
      name,
      namespace,
      uid: `${name}00000`,
      labels: Object.fromEntries(
        Object.entries(labels).map(([label, value]) => [KUEUE_LABEL[label as 'queue'], value]),
      ),
    },
    spec: { request: {} },
  });
  const follow = (object: ProbeBatch) =>
    queues.follow(object, { isSuspended: false, running: 0, over: null, count: () => Promise.resolve(1) });
  const made = async (): Promise<number> => (await server.client.list(WORKLOADS, { namespace })).items.length;

  it('by what its labels say: it says why, and is not tried again at once, but with other labels', async () => {
    await until('Workloads are watched', () => queues.knows(objectOf('a', { queue: 'media' })), 40_000);
    const long = objectOf('long', { queue: 'too-long' });
    await follow(long);
    assert.equal(queues.heldBy(long)?.reason, 'WorkloadRefused');
    assert.match(queues.heldBy(long)!.message, /queueName/);
    const urgent = objectOf('urgent', { queue: 'media', priority: 'high' });
    await follow(urgent);
    assert.match(queues.heldBy(urgent)!.message, /its WorkloadPriorityClass high has to exist/);
    await server.client.create(WORKLOAD_PRIORITY_CLASSES, { metadata: { name: 'high' }, value: 1 });
    await follow(urgent);
    assert.equal(await made(), 0);
    await follow(objectOf('long', { queue: 'media' }));
    await follow({ ...urgent, metadata: { ...urgent.metadata, labels: { ...urgent.metadata.labels, a: 'b' } } });
    assert.equal(await made(), 2);
  });
});

describe('ProbeBatches in a queue whose status is refused', function () {
  this.timeout(120_000);
  let server: TestApiServer;
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    server = await testApiServer({ alone: true });
    await makeKinds(server);
    api = await startApi({ kueue: true }, { apiServer: server });
    batches = batchesOf(api);
    await api.stored.makeDefault(api.tokenId);
  });
  after(async () => {
    await api.stop();
    await server.stop();
  });

  const workloadOf = async (name: string) => {
    const { items } = await api.kube.list(WORKLOADS, { namespace: api.namespace });
    return items.find(({ metadata }) => metadata.name.startsWith(`probebatch-${name}-`));
  };
  const read = (name: string) => api.kube.get(PROBE_BATCHES, name, { namespace: api.namespace });

  /** Kueue admits it, and it ends. */
  async function ended(name: string, labels: Record<string, string> = {}): Promise<void> {
    const { namespace } = api;
    await api.kube.create(PROBE_BATCHES, {
      metadata: { name, namespace, labels: { [KUEUE_LABEL.queue]: 'media', ...labels } },
      spec: { request: { probe: ONLY, items: [{ url: `https://${name}.example/a.mp4` }] } },
    });
    const { metadata } = await until('it has a Workload', () => workloadOf(name), 60_000);
    const admitted = { type: 'Admitted', status: 'True', reason: 'Admitted', message: '' } as const;
    const conditions = withTimes(undefined, [admitted], stamp(Date.now()));
    await api.kube.mergePatchStatus(WORKLOADS, metadata.name, { conditions }, { namespace });
    await until('it runs', async () => (await read(name)).status?.state === 'Running');
    await refuse(api.kube, 'status', PROBE_BATCHES, { namespace, name });
    const { id } = (await read(name)).status!;
    await batches.run(id!, `${name}.example`, (job) => batches.success(job.metadata.name));
    await until('it cannot say so', () =>
      api.log.some((line) => line.includes('cannot write the status') && line.includes(`/${name}"`)),
    );
  }

  it('give their quota back when they have ended, but for those that MultiKueue sent', async () => {
    await ended('sent', { [KUEUE_LABEL.origin]: 'multikueue' });
    await ended('own');
    await until('Kueue is told', async () => isTrue((await workloadOf('own'))?.status, 'Finished'));
    assert.equal((await read('own')).status?.state, 'Running');
    assert.equal(isTrue((await workloadOf('sent'))?.status, 'Finished'), false);
  });
});

describe('the runner that a Workload asks quota for', () => {
  const pool = (name: string, cpu: string, serves: Partial<ProbePoolSpec['serves']> = {}, priority = 0): ProbePool => ({
    apiVersion: 'probeyard.dev/v1alpha1',
    kind: 'ProbePool',
    metadata: { name },
    spec: {
      serves: { kinds: ['file'], ...serves },
      minReady: 1,
      maxPods: 2,
      priority,
      resources: { tools: { requests: { cpu } } },
    },
  });
  const asked = (tools: string) => [
    { name: 'agent', resources: { requests: { cpu: '10m', memory: '64Mi' } } },
    { name: 'tools', resources: { requests: { cpu: tools, memory: '64Mi' } } },
  ];

  it('is that of the first pool that runs the jobs of any account', () => {
    const pools = [
      pool('short', '1'),
      pool('long', '2', {}, 1),
      pool('one-account', '3', { accounts: [7] }, 2),
      pool('labelled', '4', { labels: { team: 'a' } }, 3),
      pool('playlists', '5', { kinds: ['msv'] }, 4),
    ];
    assert.deepEqual(runnerOf(pools), asked('2'));
  });
  it('is the smallest without a pool', () => assert.deepEqual(runnerOf([]), asked('10m')));
});
