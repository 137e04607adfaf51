/** ProbeBatches in queues of a real Kueue: its controllers and its scheduler, with one runner as quota. */
import assert from 'node:assert/strict';
import { PROBE_BATCHES } from '../../../src/platform/kube/client.ts';
import { conditionOf, isTrue } from '../../../src/platform/kube/conditions.ts';
import { startReflector } from '../../../src/platform/kube/reflector.ts';
import {
  KUEUE_LABEL,
  MULTIKUEUE,
  WORKLOAD_PRIORITY_CLASSES,
  WORKLOADS,
  type Workload,
} from '../../../src/platform/kube/workload.ts';
import { testApiServer } from '../../kube/apiserver.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, ONLY, requestsOf } from './fixture.ts';
import { type Kueue, kueueIsBuilt, makeQueue, QUEUE, startKueue } from './kueue_cluster.ts';

describe('ProbeBatches in queues of Kueue', function () {
  this.timeout(180_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  let manager: Kueue | undefined;

  before(async function () {
    if (!(await kueueIsBuilt())) return this.skip();
    api = await startApi({ kueue: true });
    batches = batchesOf(api);
    await api.stored.makeDefault(api.tokenId);
    manager = await startKueue(api.kube, (await testApiServer({ own: true })).kubeconfig);
    await makeQueue(api.kube, api.namespace);
    for (const [priority, value] of [
      ['low', 1],
      ['high', 100],
    ] as const)
      await api.kube.create(WORKLOAD_PRIORITY_CLASSES, { metadata: { name: `${api.namespace}-${priority}` }, value });
  });
  after(async () => {
    await manager?.stop();
    await api?.stop();
  });

  async function create(
    name: string,
    items: number,
    priority = 'low',
    { labels = {}, managedBy }: { labels?: Record<string, string>; managedBy?: string } = {},
  ): Promise<void> {
    await api.kube.create(PROBE_BATCHES, {
      metadata: {
        name,
        namespace: api.namespace,
        labels: { [KUEUE_LABEL.queue]: QUEUE, [KUEUE_LABEL.priority]: `${api.namespace}-${priority}`, ...labels },
      },
      spec: {
        ...(managedBy === undefined ? {} : { managedBy }),
        request: {
          probe: ONLY,
          concurrency: 1,
          items: Array.from({ length: items }, (_, n) => ({ url: `https://${name}.example/${n}.mp4` })),
        },
      },
    });
  }
  const read = (name: string) => api.kube.get(PROBE_BATCHES, name, { namespace: api.namespace });
  async function untilState(name: string, state: string, reason?: string): Promise<void> {
    let status: object | undefined;
    await until(
      `${name} is ${state}`,
      async () => {
        const object = await read(name);
        status = object.status;
        const is = conditionOf(object.status, state === 'Suspended' ? 'Suspended' : 'Succeeded');
        return object.status?.state === state && (reason === undefined || is?.reason === reason);
      },
      40_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(status)}\n${manager?.said()}`);
    });
  }
  async function workloadOf(name: string) {
    const { items } = await api.kube.list(WORKLOADS, { namespace: api.namespace });
    return items.find(({ metadata }) => metadata.name.startsWith(`probebatch-${name}-`));
  }
  async function endJobs(name: string): Promise<void> {
    await until('a job', async () => (await batches.jobs(`${name}.example`)).length > 0);
    for (const job of await batches.jobs(`${name}.example`))
      for (const id of requestsOf(job)) await batches.success(id);
  }
  const endAll = async (name: string) =>
    batches.run((await read(name)).status!.id!, `${name}.example`, (job) => batches.success(job.metadata.name));

  it('Kueue is told that one has ended after its object says so, as MultiKueue copies the status then', async () => {
    let toldAt: bigint | undefined;
    const note = ({ metadata, status }: Workload): void => {
      if (metadata.name.startsWith('probebatch-told-') && isTrue(status, 'Finished'))
        toldAt ??= BigInt(metadata.resourceVersion!);
    };
    const { namespace, kube: client } = api;
    const watched = startReflector({ client, type: WORKLOADS, namespace, handlers: { add: note, update: note } });
    try {
      await watched.synced;
      await create('told', 1);
      await untilState('told', 'Running');
      await endAll('told');
      await until('Kueue is told', () => toldAt);
      const { status, metadata } = await read('told');
      assert.equal(status?.state, 'Completed');
      assert.ok(BigInt(metadata.resourceVersion!) < toldAt!, `${metadata.resourceVersion} < ${toldAt}`);
    } finally {
      await watched.stop();
    }
  });

  it('a quota for one: the second waits, and starts when the first has ended', async () => {
    await create('first', 1);
    await untilState('first', 'Running');
    await create('second', 2);
    await untilState('second', 'Suspended', 'Queued');
    assert.equal((await read('second')).status?.id, undefined);
    await endAll('first');
    await untilState('first', 'Completed');
    await until('Kueue is told', async () => isTrue((await workloadOf('first'))?.status, 'Finished'));
    await untilState('second', 'Running');
  });

  it('preempted: it is paused, gives its quota back when nothing runs, and goes on afterwards', async () => {
    await until('a job', async () => (await batches.jobs('second.example')).length === 1);
    await create('urgent', 1, 'high');
    await untilState('second', 'Suspended', 'Preempted');
    assert.equal((await read('urgent')).status?.state, 'Suspended');
    await endJobs('second');
    await untilState('urgent', 'Running');
    await until('the item that ran is counted', async () => (await read('second')).status?.done === 1);
    await endAll('urgent');
    await untilState('second', 'Running');
  });

  it('deactivated, and suspended by its owner: it is paused without a quota, and goes on', async () => {
    await endAll('second');
    await create('third', 3);
    await untilState('third', 'Running');
    const { metadata } = (await workloadOf('third'))!;
    const activate = (active: boolean) =>
      api.kube.mergePatch(WORKLOADS, metadata.name, { spec: { active } }, { namespace: api.namespace });
    const suspend = (isSuspended: boolean) =>
      api.kube.mergePatch(PROBE_BATCHES, 'third', { spec: { suspend: isSuspended } }, { namespace: api.namespace });
    await activate(false);
    await untilState('third', 'Suspended');
    await endJobs('third');
    await until('its quota is free', async () => !isTrue((await workloadOf('third'))?.status, 'QuotaReserved'));
    await activate(true);
    await untilState('third', 'Running');
    await suspend(true);
    await untilState('third', 'Suspended', 'Suspended');
    await until('its quota is free', async () => (await workloadOf('third')) === undefined);
    await suspend(false);
    await untilState('third', 'Running');
    await endAll('third');
    await untilState('third', 'Completed');
  });

  it('sent by MultiKueue: it takes the Workload that came with it; managed by it: it has no batch here', async () => {
    const { namespace } = api;
    const container = { name: 'agent', resources: { requests: { cpu: '10m' } } };
    const template = { spec: { restartPolicy: 'Never', containers: [container] } };
    await api.kube.create(WORKLOADS, {
      metadata: { name: 'sent', namespace, labels: { 'app.kubernetes.io/managed-by': 'probeyard' } },
      spec: { queueName: QUEUE, podSets: [{ name: 'runners', count: 1, template }] },
    });
    await create('prebuilt', 1, 'low', { labels: { [KUEUE_LABEL.prebuilt]: 'sent' } });
    await untilState('prebuilt', 'Running');
    await create('thief', 1, 'low', { labels: { [KUEUE_LABEL.prebuilt]: 'sent' } });
    await untilState('thief', 'Suspended', 'Queued');
    await create('elsewhere', 1, 'low', { managedBy: MULTIKUEUE });
    await until('it has a Workload', async () => (await workloadOf('elsewhere')) !== undefined);
    await endAll('prebuilt');
    await untilState('prebuilt', 'Completed');
    await until('Kueue is told', async () =>
      isTrue((await api.kube.get(WORKLOADS, 'sent', { namespace })).status, 'Finished'),
    );
    assert.equal(
      (await api.kube.get(WORKLOADS, 'sent', { namespace })).metadata.ownerReferences?.[0]?.name,
      'prebuilt',
    );
    await until('it is admitted', async () => isTrue((await workloadOf('elsewhere'))?.status, 'Admitted'));
    assert.equal((await read('elsewhere')).status?.observedGeneration, undefined);
    assert.deepEqual(await batches.jobs('elsewhere.example'), []);
    assert.equal((await read('thief')).status?.id, undefined);
  });
});
