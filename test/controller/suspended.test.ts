/** Jobs made with kubectl that are suspended, that another controller manages, or that name how long they are kept. */
import assert from 'node:assert/strict';
import { conditionOf } from '../../src/platform/kube/conditions.ts';
import { EVENTS, isKubeError, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { ProbeJob, ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import { until } from '../until.ts';
import { clusterOfEach } from './cluster_parts.ts';

describe('leader: jobs made with kubectl', function () {
  this.timeout(60_000);
  const { start, led, current } = clusterOfEach();

  const create = (name: string, spec: Partial<ProbeJobSpec>): Promise<ProbeJob> =>
    current().kube.create(PROBE_JOBS, {
      metadata: { name, namespace: current().namespace },
      spec: {
        kind: 'file',
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe', version: 'latest' }],
        ...spec,
      },
    });
  const resume = (name: string) => current().kube.mergePatch(PROBE_JOBS, name, { spec: { suspend: false } });
  const shown = (name: string) => until(`${name} is Suspended`, () => current().reason(name) === 'Suspended');

  it('a suspended job waits for its resumption across terms, and its queue time begins then', async () => {
    const { controller, ready, ended, job, kube, servers, leader: first } = await led({ minReady: 2 });
    const { metadata } = await create('later', { suspend: true, queueTimeoutMs: 1_000 });
    await shown('later');
    assert.deepEqual([first.term.leader.ledger.waiting, [...first.term.leader.jobs.allTaken()].length], [0, 0]);
    assert.equal(await servers.stored.store.readRequest(metadata.uid ?? ''), null);
    await first.stop();
    await controller({ epoch: 2 });
    await ready(2);
    const created = Date.parse(metadata.creationTimestamp ?? '');
    await until('it would have timed out in the queue', () => Date.now() - created > 2_500);
    await resume('later');
    const [record] = await ended(metadata.uid ?? '');
    assert.equal(record?.state, 'success');
    const done = await until('its status is written', () => {
      const found = job('later');
      return found?.status?.completedAt === undefined ? undefined : found;
    });
    const suspended = conditionOf(done.status, 'Suspended');
    assert.deepEqual([suspended?.status, suspended?.reason], ['False', 'Resumed']);
    assert.equal(record?.submittedAt.toISOString(), suspended?.lastTransitionTime);
    await assert.rejects(
      kube.mergePatch(PROBE_JOBS, 'later', { spec: { suspend: true } }),
      (error) => isKubeError(error, 'invalid') && error.message.includes('only a new job can be suspended'),
    );
  });

  it('as many may be suspended as half of the queue holds', async () => {
    await led({}, { env: { PY_MAX_QUEUED: '4' } });
    for (const name of ['one', 'two']) await create(name, { suspend: true });
    for (const name of ['one', 'two']) await shown(name);
    await create('three', { suspend: true });
    await until('the third is refused', () => current().reason('three') === 'QueueFull');
    await current().kube.delete(PROBE_JOBS, 'one', { namespace: current().namespace });
    await until('there is room', () => current().job('one') === undefined);
    await create('four', { suspend: true });
    await shown('four');
  });

  it('one that was resumed while no controller ran is taken in', async () => {
    const { controller, ready, ended, leader: first } = await led({});
    const { metadata } = await create('later', { suspend: true });
    await shown('later');
    await first.stop();
    await resume('later');
    await controller({ epoch: 2 });
    await ready(1);
    assert.equal((await ended(metadata.uid ?? ''))[0]?.state, 'success');
  });

  it('one that is deleted leaves no record, and another of its name runs', async () => {
    const { ended, kube, namespace, servers } = await led({});
    const { metadata } = await create('twice', { suspend: true });
    await shown('twice');
    await kube.delete(PROBE_JOBS, 'twice', { namespace });
    const again = await create('twice', {});
    await ended(again.metadata.uid ?? '');
    assert.equal(await servers.stored.store.readRequest(metadata.uid ?? ''), null);
  });

  it('a job of another controller is left alone, whatever its status says', async () => {
    const { ended, kube, namespace, job, term } = await led({ minReady: 2 });
    await create('theirs', { managedBy: 'example.com/scheduler' });
    const runner = current().runners.all()[0]!;
    const admittedBy = { holder: 'other', epoch: 1, token: servers().token, account: servers().account };
    await kube.mergePatchStatus(PROBE_JOBS, 'theirs', { admittedBy, runner: { pod: runner.pod, uid: runner.uid } });
    const own = await create('own', { managedBy: 'probeyard.dev/controller' });
    await ended(own.metadata.uid ?? '');
    assert.equal(conditionOf(job('theirs')?.status, 'Succeeded'), undefined);
    assert.equal(term.leader.knows('theirs'), false);
    await kube.delete(PROBE_JOBS, 'theirs', { namespace });
    await until('it is gone', () => job('theirs') === undefined);
  });
  const servers = () => {
    const { tokenId, userId } = current().servers.stored.admin;
    return { token: tokenId, account: userId };
  };

  it('is kept for its own time, or a least time although there are too many', async () => {
    const { ended, job, submit } = await led({ minReady: 2 }, { env: { PY_FINISHED_MAX: '0' } });
    const kept = await create('kept', {});
    const short = await create('short', { ttlSecondsAfterFinished: 1 });
    const ofApi = await submit();
    await ended(kept.metadata.uid ?? '', short.metadata.uid ?? '', ofApi.id);
    await until('the others are deleted', () => !job('short') && !job(ofApi.id), 30_000);
    assert.match(job('kept')?.status?.batch ?? '', /-hand$/);
  });

  it('no other field of its spec can be changed', async () => {
    await start();
    await create('fixed', { suspend: true });
    for (const spec of [
      { timeoutMs: 1_000 },
      { source: { url: 'https://media.example.org/b.mp4' } },
      { tools: null },
      { suspend: false, managedBy: 'example.com/scheduler' },
    ])
      await assert.rejects(
        current().kube.mergePatch(PROBE_JOBS, 'fixed', { spec }),
        (error) => isKubeError(error, 'invalid') && error.message.includes('cannot be changed, except for suspend'),
        JSON.stringify(spec),
      );
    await resume('fixed');
  });

  it('one that fails gets one Event, as one of the API does only for faults of the cluster', async () => {
    const { ended, kube } = await led({});
    const { metadata } = await create('old', { tools: [{ name: 'ffprobe', version: '0.1' }] });
    await ended(metadata.uid ?? '');
    const events = () => kube.listAll(EVENTS, { fieldSelector: 'involvedObject.name=old' });
    await until('it has an Event', async () => (await events()).items.length > 0);
    assert.deepEqual(
      (await events()).items.map(({ type, reason, count }) => [type, reason, count]),
      [['Warning', 'ToolUnavailable', 1]],
    );
  });
});
