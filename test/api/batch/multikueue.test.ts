/** ProbeBatches that a real MultiKueue sends to another cluster, by its adapter for kinds that it does not know. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { NAMESPACES, PROBE_BATCHES } from '../../../src/platform/kube/client.ts';
import { SECRETS, type KubeObject } from '../../../src/platform/kube/kinds.ts';
import { conditionOf, isTrue } from '../../../src/platform/kube/conditions.ts';
import type { ProbeBatchSpec } from '../../../src/platform/kube/probe_batch.ts';
import { KUEUE_LABEL, MULTIKUEUE, WORKLOADS } from '../../../src/platform/kube/workload.ts';
import { testApiServer, type TestApiServer } from '../../kube/apiserver.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, ONLY } from './fixture.ts';
import { type Kueue, kueue, kueueIsBuilt, makeQueue, QUEUE, startKueue } from './kueue_cluster.ts';

const CHECKS = kueue('admissionchecks', 'AdmissionCheck', false);
const CONFIGS = kueue('multikueueconfigs', 'MultiKueueConfig', false);
const WORKERS = kueue('multikueueclusters', 'MultiKueueCluster', false);

/** With its certificate, as MultiKueue wants it. */
function portable(kubeconfig: string): string {
  const content = parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: Record<string, string> }[] };
  for (const { cluster } of content.clusters) {
    const file = cluster['certificate-authority'];
    if (file === undefined) continue;
    delete cluster['certificate-authority'];
    cluster['certificate-authority-data'] = readFileSync(file).toString('base64');
  }
  return stringify(content);
}

describe('ProbeBatches that MultiKueue sends to another cluster', function () {
  this.timeout(240_000);
  let cluster: TestApiServer | undefined;
  let manager: ApiFixture;
  let worker: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  let namespace: string;
  const kueues: Kueue[] = [];

  before(async function () {
    if (!(await kueueIsBuilt())) return this.skip();
    worker = await startApi({ kueue: true });
    batches = batchesOf(worker);
    ({ namespace } = worker);
    cluster = await testApiServer({ alone: true });
    await cluster.client.create(NAMESPACES, { metadata: { name: namespace } });
    manager = await startApi({ kueue: true, namespace }, { apiServer: cluster });
    for (const { stored, tokenId } of [manager, worker]) await stored.makeDefault(tokenId);
    const { kubeconfig } = await testApiServer({ own: true });
    kueues.push(await startKueue(worker.kube, kubeconfig));
    kueues.push(await startKueue(cluster.client, cluster.kubeconfig, namespace));
    await makeQueue(worker.kube, namespace);
    await makeQueue(cluster.client, namespace, { admissionChecksStrategy: { admissionChecks: [{ name: namespace }] } });
    await sendTo(portable(kubeconfig));
  });
  after(async () => {
    for (const one of kueues) await one.stop();
    await manager?.stop();
    await worker?.stop();
    await cluster?.stop();
  });

  async function sendTo(kubeconfig: string): Promise<void> {
    const { client } = cluster!;
    const metadata = { name: namespace };
    const make = (type: typeof CHECKS, spec: object) => client.create(type, { metadata, spec } as KubeObject);
    await client.create(SECRETS, {
      metadata: { name: 'worker', namespace },
      data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
    });
    await make(WORKERS, { clusterSource: { kubeConfig: { location: 'worker', locationType: 'Secret' } } });
    await make(CONFIGS, { clusters: [namespace] });
    await make(CHECKS, {
      controllerName: MULTIKUEUE,
      parameters: { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name: namespace },
    });
    await within('the worker is connected', async () => {
      const { status } = (await client.get(WORKERS, namespace)) as { status?: { conditions?: [] } };
      return isTrue(status, 'Active');
    });
  }

  const within = async <T>(what: string, holds: () => Promise<T>) =>
    until(what, holds, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${kueues.map((one) => one.said().slice(-2_000)).join('\n')}`);
    });
  const read = (where: ApiFixture, name: string) =>
    where.kube.list(PROBE_BATCHES, { namespace }).then(({ items }) => items.find((one) => one.metadata.name === name));
  const workloadOf = async (name: string) =>
    (await manager.kube.list(WORKLOADS, { namespace })).items.find(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some((owner) => owner.name === name),
    );
  const ended = (where: ApiFixture) =>
    where.stored.sql<{ id: string; reason: string | null }>('select id, reason from batches order by id');

  async function create(name: string, spec: Partial<ProbeBatchSpec> = {}): Promise<void> {
    await manager.kube.create(PROBE_BATCHES, {
      metadata: { name, namespace, labels: { [KUEUE_LABEL.queue]: QUEUE } },
      spec: {
        managedBy: MULTIKUEUE,
        ...spec,
        request: { probe: ONLY, concurrency: 1, items: [{ url: `https://${name}.example/1.mp4` }] },
      },
    });
    await within(`${name} runs, as its object in the manager's cluster says`, async () => {
      return (await read(manager, name))?.status?.state === 'Running';
    });
  }
  async function end(name: string): Promise<string> {
    const { id } = (await read(manager, name))!.status!;
    await batches.run(id!, `${name}.example`, (job) => batches.success(job.metadata.name));
    return id!;
  }

  it('it runs there, and its object here says how it ended', async () => {
    await create('film');
    const sent = (await read(worker, 'film'))!;
    assert.equal(sent.spec.managedBy, undefined);
    assert.equal(sent.metadata.labels?.[KUEUE_LABEL.origin], 'multikueue');
    assert.equal(sent.metadata.labels?.[KUEUE_LABEL.prebuilt], (await workloadOf('film'))!.metadata.name);
    const id = await end('film');
    await within('Kueue knows that it has ended', async () => isTrue((await workloadOf('film'))?.status, 'Finished'));
    const { status } = (await read(manager, 'film'))!;
    assert.equal(status?.state, 'Completed');
    assert.equal(status.done, 1);
    assert.equal(conditionOf(status, 'Succeeded')?.status, 'True');
    await within('the object there is gone', async () => (await read(worker, 'film')) === undefined);
    assert.deepEqual(await ended(worker), [{ id, reason: 'Completed' }]);
    assert.deepEqual(await ended(manager), []);
  });

  it('ttlSecondsAfterFinished: the object here goes, and that there not before it was read', async () => {
    await create('short', { ttlSecondsAfterFinished: 0 });
    const id = await end('short');
    await within('the object here is gone', async () => (await read(manager, 'short')) === undefined);
    // As the garbage collector does.
    const left = await workloadOf('short');
    if (left) await manager.kube.delete(WORKLOADS, left.metadata.name, { namespace });
    await within('the object there is gone', async () => (await read(worker, 'short')) === undefined);
    assert.deepEqual((await ended(worker)).slice(1), [{ id, reason: 'Completed' }]);
  });

  it('suspended here: its batch there is cancelled, and another one begins afterwards', async () => {
    await create('paused');
    const suspend = (isSuspended: boolean) =>
      manager.kube.mergePatch(PROBE_BATCHES, 'paused', { spec: { suspend: isSuspended } }, { namespace });
    const first = (await read(manager, 'paused'))!.status!.id;
    await suspend(true);
    await within('the object there is gone', async () => (await read(worker, 'paused')) === undefined);
    await within('its batch is cancelled', async () => (await ended(worker)).some((one) => one.id === first));
    await suspend(false);
    await within('it runs anew', async () => {
      const { status } = (await read(manager, 'paused'))!;
      return status?.state === 'Running' && status.id !== first;
    });
    await end('paused');
    await within('it has ended', async () => (await read(manager, 'paused'))?.status?.state === 'Completed');
  });
});
