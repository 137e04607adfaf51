/** Deleted jobs that a foreign finalizer keeps in the cluster. */
import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';

describe('a deleted job held by a finalizer', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 1, maxPods: 1 } } });
  });
  afterEach(async () => {
    for (const { metadata } of (await cluster.kube.listAll(PROBE_JOBS, { namespace: cluster.namespace })).items) {
      await cluster.kube.mergePatch(
        PROBE_JOBS,
        metadata.name,
        { metadata: { finalizers: null } },
        { namespace: cluster.namespace },
      );
    }
    await cluster.stop();
  });

  const ready = () => cluster.ready();
  const keep = (name: string) =>
    cluster.kube.mergePatch(
      PROBE_JOBS,
      name,
      { metadata: { finalizers: ['example.com/keep'] } },
      { namespace: cluster.namespace },
    );
  const remove = (name: string) => cluster.kube.delete(PROBE_JOBS, name, { namespace: cluster.namespace });

  it('is cancelled, waiting or running, and frees its runner and slot', async () => {
    const { controller, submit, ended, runners, newToken, reason } = cluster;
    await controller();
    await ready();
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const running = await submit({ token });
    const runner = await until('it runs', () => runners.of(running.id));
    const waiting = await submit({ token });
    for (const { id } of [running, waiting]) await keep(id);
    for (const { id } of [waiting, running]) await remove(id);
    assert.deepEqual(
      (await ended(running.id, waiting.id)).map((record) => record.reason),
      ['Cancelled', 'Cancelled'],
    );
    await until('the runner received the cancellation', () => runner.orders.some(({ what }) => what === 'cancel'));
    await until('both jobs are Cancelled', () => [running, waiting].every(({ id }) => reason(id) === 'Cancelled'));
    runners.behaviour.go = () => ({ ms: 5 });
    assert.equal((await ended((await submit({ token, queueTimeoutMs: 5_000 })).id))[0]?.state, 'success');
  });

  it('is cancelled by a new leader that finds it deleted', async () => {
    const { controller, submit, ended, runners } = cluster;
    const first = await controller();
    await ready();
    runners.behaviour.go = () => 'hold';
    const running = await submit();
    await until('it runs', () => runners.of(running.id));
    const waiting = await submit();
    await first.stop();
    for (const { id } of [running, waiting]) {
      await keep(id);
      await remove(id);
    }
    await controller({ epoch: 2 });
    assert.deepEqual(
      (await ended(running.id, waiting.id)).map((record) => record.reason),
      ['Cancelled', 'Cancelled'],
    );
  });

  it('is deleted once when its retention ends, and then left to the finalizer', async () => {
    const { controller, submit, ended, job } = cluster;
    const first = await controller({ env: { PY_FINISHED_MAX: '0' } });
    await ready();
    const { id } = await submit();
    await keep(id);
    await ended(id);
    await until('it is being deleted', () => job(id)?.metadata.deletionTimestamp);
    await first.stop();
    // A new leader finds the job in its list as long as the finalizer keeps it.
    const second = await controller({ epoch: 2, env: { PY_FINISHED_MAX: '0' } });
    const { id: next } = await submit();
    await ended(next);
    await until('the sweep deleted the next job', () => job(next) === undefined);
    const deleted = [first, second].map(({ calls }) =>
      calls.filter(({ what }) => what === 'delete ProbeJob').map(({ name }) => name),
    );
    assert.deepEqual(deleted, [['status.batch=1-1'], ['status.batch=2-1']]);
  });
});
