/** Which finished jobs are deleted, and that a real API server deletes those and no other. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  dueBatches,
  makeFinishedJobs,
  type FinishedJobs,
  type Batch,
  type FinishedJobsDeps,
} from '../../src/service/controller/leader/finished_jobs.ts';
import { PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { isFinished } from '../../src/platform/kube/conditions.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { startReflector, type Reflector } from '../../src/platform/kube/reflector.ts';
import { makeLog } from '../../src/base/log.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';
import { created, ended, endedStatus } from './ended_job.ts';

const LIMITS = { finishedSeconds: 600, finishedMax: 10, finishedByHandSeconds: 300 };
const log = makeLog('controller', { podName: 'test', logLevel: 'silent' });

describe('the choice of finished jobs to delete', () => {
  const limits = { ...LIMITS, finishedMax: 10 };
  const batch = (id: string, jobs: number, endedS: number, tryAt = 0): Batch => ({
    id,
    namespace: 'a',
    jobs: new Set(Array.from({ length: jobs }, (_, index) => `${id}-${index}`)),
    completedAt: endedS * 1000,
    tryAt,
  });
  for (const [what, batches, due] of [
    ['nothing', [], []],
    ['none below the number and the age', [batch('a', 5, 400), batch('b', 5, 900)], []],
    ['those above the age', [batch('b', 2, 900), batch('a', 2, 399)], ['a']],
    [
      'the oldest above the number, and no more than needed',
      [batch('c', 4, 3), batch('a', 4, 1), batch('b', 4, 2)].map((one) => ({
        ...one,
        completedAt: one.completedAt + 900_000,
      })),
      ['a'],
    ],
    ['a whole batch, as there is no part of one', [batch('a', 11, 900)], ['a']],
    ['as many as are above the number', [batch('a', 9, 900), batch('b', 9, 901), batch('c', 9, 902)], ['a', 'b']],
    ['none whose call is under way, which counts as deleted', [batch('a', 9, 900, Infinity), batch('b', 9, 901)], []],
    ['none that pauses after a failure, but others', [batch('a', 9, 1, 6_000), batch('b', 2, 2)], ['b']],
    ['none made by hand before its least age, whatever the number', [batch('1-a-hand', 99, 701)], []],
    ['one made by hand above the number, after that age', [batch('1-a-hand', 99, 700)], ['1-a-hand']],
    ['one made by hand above the age', [batch('1-a-hand', 1, 399)], ['1-a-hand']],
    ['none that names a longer time', [batch('1-a-hand-601', 1, 399)], []],
    ['one that names a shorter time', [batch('1-a-hand-0', 1, 999)], ['1-a-hand-0']],
    ['one whose pause is over', [batch('a', 9, 1, 5_000)], ['a']],
  ] as const)
    it(`is ${what}`, () => {
      const found = dueBatches(batches, limits, { now: 1_000_000, monotonic: 5_000 });
      assert.deepEqual(
        found.map(({ id }) => id),
        due,
      );
    });
});

describe('deletion of finished jobs', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let namespace: string;
  let kube: KubeClient;
  let jobs: Reflector<ProbeJob>;
  let finished: FinishedJobs;
  let calls: string[];

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    namespace = await server.namespace('finished');
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    calls = [];
  });
  afterEach(async () => {
    finished?.stop();
    await jobs?.stop();
    await kube.close();
  });

  const start = async (by: KubeClient = kube, change: Partial<FinishedJobsDeps> = {}): Promise<void> => {
    finished = makeFinishedJobs({
      kube: {
        ...by,
        deleteAll: (type, selector, ...given) => {
          calls.push(selector);
          return by.deleteAll(type, selector, ...given);
        },
      },
      epoch: 1,
      limits: { ...LIMITS, finishedMax: 0 },
      log,
      now: () => Date.now(),
      stillLeading: () => true,
      ...change,
    });
    jobs = startReflector<ProbeJob>({
      client: kube,
      type: PROBE_JOBS,
      namespace,
      handlers: {
        add: (job) => isFinished(job.status) && finished.add(job),
        update: (job) => isFinished(job.status) && finished.add(job),
        delete: (job) => finished.forget(job),
      },
    });
    await jobs.synced;
    finished.start();
  };
  const create = (name: string = randomUUID()): Promise<ProbeJob> => kube.create(PROBE_JOBS, created(name));
  const end = async (batch: string, name?: string): Promise<string> => {
    const { metadata } = await create(name);
    await kube.mergePatchStatus(PROBE_JOBS, metadata.name, endedStatus(Date.now(), batch));
    return metadata.name;
  };
  const endMany = (count: number, batch: string) => Promise.all(Array.from({ length: count }, () => end(batch)));
  const left = async (): Promise<string[]> =>
    (await kube.listAll(PROBE_JOBS)).items.map(({ metadata }) => metadata.name).toSorted();
  const untilDeleted = (ms?: number): Promise<unknown> =>
    until('no finished job is left', () => finished.size() === 0, ms);

  it('a batch goes by one call, and no job that is unfinished or of another batch', async () => {
    await endMany(30, '1-1');
    const [kept, unfinished] = [await end('1-2'), await create()];
    await start(kube, { limits: { ...LIMITS, finishedMax: 1 } });
    await until('one batch is left', () => finished.size() === 1);
    assert.deepEqual(await left(), [kept, unfinished.metadata.name].toSorted());
    assert.deepEqual(calls, ['status.batch=1-1']);
  });

  it('a job that a finalizer keeps is left to it, and holds up no other', async () => {
    const held = await end('1-1');
    await kube.mergePatch(PROBE_JOBS, held, { metadata: { finalizers: ['example.com/keep'] } });
    await endMany(3, '1-1');
    await start();
    await untilDeleted();
    assert.deepEqual(await left(), [held]);
    await end('1-2');
    await until('the next batch is deleted', async () => (await left()).length === 1 && finished.size() === 0);
    assert.deepEqual(calls, ['status.batch=1-1', 'status.batch=1-2']);
    await kube.mergePatch(PROBE_JOBS, held, { metadata: { finalizers: null } });
  });

  it('an API server that does not answer gets 16 calls, and the rest when it answers', async () => {
    for (let batch = 0; batch < 20; batch++) await endMany(2, `1-${batch}`);
    const answers = Promise.withResolvers<void>();
    let ticks = 0;
    const slow: KubeClient = {
      ...kube,
      deleteAll: async (...given) => {
        await answers.promise;
        return kube.deleteAll(...given);
      },
    };
    await start(slow, { stillLeading: () => ++ticks > 0 });
    await until('there were some turns', () => ticks > 3);
    assert.equal(calls.length, 16);
    answers.resolve();
    await untilDeleted();
    assert.equal(calls.length, 20);
    assert.deepEqual(await left(), []);
  });

  it('a batch that cannot be deleted pauses, and the others are deleted', async () => {
    const batches = Array.from({ length: 20 }, (_, index) => `1-${index + 1}`);
    for (const batch of batches) await end(batch);
    const refusing: KubeClient = {
      ...kube,
      deleteAll: async (type, selector, options) =>
        kube.deleteAll(type, /-(19|20)$/.test(selector) ? selector : 'status.none=1', options),
    };
    await start(refusing);
    await until('two are deleted', () => finished.size() === 18);
    assert.equal((await left()).length, 18);
    assert.equal(new Set(calls).size, calls.length, 'none was tried twice');
  });

  it('a batch of which a call deleted a part goes on at once', async () => {
    const [first] = await endMany(2, '1-1');
    const partly: KubeClient = {
      ...kube,
      deleteAll: async (...given) => {
        if (calls.length > 1) return kube.deleteAll(...given);
        await kube.delete(PROBE_JOBS, first!);
        await until('the watch has it', () => finished.size() === 1);
        throw new Error('the call took too long');
      },
    };
    await start(partly);
    await untilDeleted();
    assert.deepEqual(await left(), []);
    assert.equal(calls.length, 2);
  });

  it('a leader that is deposed deletes nothing', async () => {
    await end('1-1');
    let asked = 0;
    await start(kube, { stillLeading: () => ++asked < 0 });
    await until('it had some turns', () => asked > 2);
    assert.deepEqual(calls, []);
  });

  it('batches are of 100 jobs at most, and those of another term have other names', async () => {
    await start();
    const names = Array.from({ length: 201 }, () => finished.nextBatch('a'));
    const sizes = Map.groupBy(names, (name) => name);
    assert.deepEqual(
      [...sizes].map(([name, { length }]) => [name, length]),
      [
        ['1-1', 100],
        ['1-2', 100],
        ['1-3', 1],
      ],
    );
    assert.deepEqual([finished.nextBatch('b'), finished.nextBatch('a')], ['1-4', '1-3'], 'a namespace has its own');
    finished.stop();
    await jobs.stop();
    await start(kube, { epoch: 2 });
    assert.equal(finished.nextBatch('a'), '2-1');
  });
});

describe('deletion of finished jobs while the API server is away', function () {
  this.timeout(120_000);

  it('goes on when it is back', async () => {
    const server = await testApiServer({ alone: true });
    const namespace = await server.namespace('finished');
    const kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    const finished = makeFinishedJobs({
      kube,
      epoch: 1,
      limits: { ...LIMITS, finishedMax: 0 },
      log,
      now: () => Date.now(),
      stillLeading: () => true,
    });
    try {
      const { metadata } = await kube.create(PROBE_JOBS, created('a'));
      await kube.mergePatchStatus(PROBE_JOBS, 'a', endedStatus(Date.now()));
      await server.pauseEtcd();
      finished.add({ ...ended('a', Date.now()), metadata });
      finished.start();
      // Longer than the API server waits for etcd is not needed: the call outlives the outage, or another follows it.
      await until('the server does not answer', () =>
        kube.get(PROBE_JOBS, 'a', { deadlineMs: 1_000 }).then(
          () => false,
          () => true,
        ),
      );
      server.resumeEtcd();
      await until('it is deleted', () => finished.size() === 0, 90_000);
      assert.deepEqual((await kube.listAll(PROBE_JOBS)).items, []);
    } finally {
      finished.stop();
      await kube.close();
      await server.stop();
    }
  });
});

describe('finished jobs at 500 a second', function () {
  this.timeout(60_000);

  it('are deleted as fast as they come: no more stay than the maximum and a few batches', async () => {
    /** As the API server does it: those of one call one after the other, 2 to 4 ms each. */
    const stored = new Map<string, string>();
    const played = {
      deleteAll: async (_type: unknown, selector: string) => {
        for (const [name, batch] of stored) {
          if (selector !== `status.batch=${batch}`) continue;
          await pause(2);
          stored.delete(name);
        }
      },
    };
    const finished = makeFinishedJobs({
      kube: played as unknown as KubeClient,
      epoch: 1,
      limits: { ...LIMITS, finishedMax: 500 },
      log,
      now: () => Date.now(),
      stillLeading: () => true,
    });
    finished.start();
    try {
      let at = performance.now();
      let [made, due, most] = [0, 0, 0];
      await until('2,500 jobs have finished', () => {
        // A time in which this process did not run is none in which jobs finished, or could be deleted.
        due += Math.min(20, (performance.now() - at) / 2);
        at = performance.now();
        for (; made < Math.min(2_500, Math.floor(due)); made++) {
          const batch = finished.nextBatch('none');
          stored.set(`job-${made}`, batch);
          finished.add(ended(`job-${made}`, Date.now(), batch));
        }
        most = Math.max(most, stored.size);
        return made === 2_500;
      });
      assert.ok(most <= 1_200, `${most} at the most`);
    } finally {
      finished.stop();
    }
  });
});

describe('finished jobs at a change of the leader', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  it('are deleted by the next one, and a job that runs is not', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } } });
    const { controller, ready, submit, ended: ends, runners, job, record } = cluster;
    const first = await controller();
    await ready(2);
    const done = [await submit(), await submit(), await submit()].map(({ id }) => id);
    await ends(...done);
    runners.behaviour.go = () => 'hold';
    const { id } = await submit();
    await until('it runs', () => runners.of(id));
    await until('all are shown as finished', () => done.every((name) => isFinished(job(name)?.status)));
    await first.stop();
    const { calls } = await controller({ epoch: 2, env: { PY_FINISHED_MAX: '0' } });
    await until('they are deleted', () => done.every((name) => job(name) === undefined));
    assert.deepEqual(
      calls.filter(({ what }) => what === 'delete ProbeJob').map(({ name }) => name),
      ['status.batch=1-1'],
    );
    assert.equal((await record(id)).state, 'open');
    assert.ok(job(id));
  });
});
