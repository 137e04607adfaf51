/**
 * Jobs that the leader creates with their admission, beside those that the API creates. No admission policy is
 * installed here, as where admissionPolicy.enabled is off: fence.test.ts has one.
 */
import assert from 'node:assert/strict';
import { KubeError, PODS, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { isAdmitted } from '../../src/platform/kube/conditions.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { announced } from '../../src/service/controller/leader/create.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { startRelay } from '../kube/relay.ts';
import { random as seeded } from '../source/random.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster, type Submitted } from './cluster_parts.ts';
import type { Controller } from './controller_part.ts';
import { gateAtCreate, type Gate } from './obstacles.ts';

const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 100_000));

describe('jobs created with their admission', function () {
  this.timeout(90_000);
  let cluster: Cluster;
  let gate: Gate | undefined;
  afterEach(async () => {
    gate?.open();
    gate = undefined;
    await cluster?.stop();
  });

  const small = { pools: { short: { minReady: 2, maxPods: 2 } } };
  const start = async (where?: 'before' | 'after') => {
    cluster = await startCluster(small);
    gate = where && gateAtCreate(cluster.kube, where);
    const controller = await cluster.controller(gate ? { writes: gate.kube } : {});
    await cluster.ready(2);
    return controller;
  };
  /** The leader is told, and nobody waits for its answer. */
  const told = (token?: number) =>
    cluster.submit({ ...(token === undefined ? {} : { token }), announce: true, create: false });
  const callsOf = ({ calls }: Controller, { id }: Submitted) =>
    calls.filter(({ name }) => name === id).map(({ what }) => what);
  const succeeds = async (job: Submitted) => {
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    await until('the job is Completed', () => cluster.reason(job.id) === 'Completed');
  };
  const runs = ({ id }: Submitted) => cluster.runners.began.filter(({ job }) => job === id).length;
  /** The creates of the leader are refused once the test says so. */
  const startRefused = async (): Promise<() => void> => {
    cluster = await startCluster(small);
    const { promise, resolve } = Promise.withResolvers<void>();
    const create: KubeClient['create'] = async (type, object, options) => {
      if (type.kind !== 'ProbeJob') return cluster.kube.create(type, object, options);
      await promise;
      throw new KubeError('forbidden', 'another controller leads since');
    };
    await cluster.controller({ writes: { ...cluster.kube, create } });
    await cluster.ready(2);
    return resolve;
  };
  const ordersOf = ({ id }: Submitted) =>
    cluster.runners
      .all()
      .flatMap(({ uid, orders }) => orders.map((order) => ({ ...order, uid })))
      .filter(({ job }) => job === id);
  const whatOf = (job: Submitted): string[] => ordersOf(job).map(({ what }) => what);
  const prepared = (job: Submitted) => until(`${job.id} is prepared`, () => whatOf(job).includes('prepare'));
  const running = (job: Submitted) => until(`${job.id} runs`, () => cluster.runners.of(job.id), 10_000);

  /** What runs is seen by a watch, a moment later. */
  const ranAlone = async (token: number): Promise<void> => {
    await until('a job of the token is seen to run', () => cluster.most(token) > 0);
    assert.equal(cluster.most(token), 1);
  };

  it('a job that can run at once takes two writes, and is as the API described it', async () => {
    const controller = await start();
    const job = await cluster.submit({ announce: true });
    await succeeds(job);
    assert.deepEqual(callsOf(controller, job), ['create ProbeJob', 'status ProbeJob']);
    const { metadata, spec, status } = await cluster.kube.get(PROBE_JOBS, job.id);
    assert.deepEqual(metadata.labels, { [LABEL.token]: String(job.token) });
    assert.equal(spec.token?.id, job.token);
    assert.deepEqual([status?.attempts, status?.admittedBy?.epoch, status?.admittedBy?.token], [1, 1, job.token]);
  });

  it('its runner is prepared while it is created, and runs it only after that', async () => {
    await start('before');
    const job = await told();
    await prepared(job);
    await until('the create of the leader is about to be sent', () => gate!.arrived.length === 1);
    assert.deepEqual([cluster.job(job.id), whatOf(job)], [undefined, ['prepare']]);
    gate!.open();
    await succeeds(job);
    assert.deepEqual(whatOf(job), ['prepare', 'go']);
    assert.equal(new Set(ordersOf(job).map(({ uid }) => uid)).size, 1);
    assert.equal(runs(job), 1);
  });

  it('of two requests of a token that may run one, the leader creates one', async () => {
    await start('before');
    const token = await cluster.newToken(1);
    const both = [await told(token), await told(token)];
    // Either: the token of both is read at once.
    await until('one of them is prepared', () => both.some((job) => whatOf(job).includes('prepare')));
    // What follows on the same subject was handled after both.
    await prepared(await told());
    assert.deepEqual(both.map(whatOf).toSorted(), [[], ['prepare']]);
  });

  it('the slot and the runner of one that is not created are free at once', async () => {
    const refuse = await startRefused();
    const token = await cluster.newToken(1);
    cluster.runners.behaviour.go = () => 'hold';
    const never = await told(token);
    await prepared(never);
    const next = await cluster.submit({ token });
    await until('the next one waits for it', () => cluster.reason(next.id) === 'TokenAtLimit');
    refuse();
    await running(next);
    await until('it is cancelled', () => whatOf(never).includes('cancel'));
    assert.deepEqual(whatOf(never), ['prepare', 'cancel']);
    await ranAlone(token);
  });

  it('one that the leader cannot create is taken in when the API has created it, and runs once', async () => {
    const refuse = await startRefused();
    const token = await cluster.newToken(1);
    const job = await told(token);
    await prepared(job);
    refuse();
    await until('it is cancelled', () => whatOf(job).includes('cancel'));
    await cluster.create(job);
    await succeeds(job);
    assert.equal(runs(job), 1);
    await ranAlone(token);
  });

  it('a limit that is lowered while it is created takes nothing away', async () => {
    const { term } = await start('before');
    const token = await cluster.newToken(2);
    cluster.runners.behaviour.go = () => 'hold';
    const first = await cluster.submit({ token });
    await running(first);
    const job = await told(token);
    await prepared(job);
    await cluster.servers.stored.sql('update tokens set concurrency = 1 where id = $1', [token]);
    await term.leader.tokensChanged([token]);
    gate!.open();
    await running(job);
  });

  it('one whose pod is gone when it is created runs on another', async () => {
    await start('before');
    const job = await told();
    await prepared(job);
    const { uid } = ordersOf(job)[0]!;
    const pod = (await cluster.pods()).find(({ metadata }) => metadata.uid === uid)!;
    await cluster.kube.delete(PODS, pod.metadata.name, { namespace: cluster.runnerNamespace, gracePeriodSeconds: 0 });
    await until('its runner is gone', () => cluster.runners.all().every((runner) => runner.uid !== uid));
    gate!.open();
    await succeeds(job);
    assert.notEqual(cluster.runners.began.find((one) => one.job === job.id)?.uid, uid);
  });

  it('one that is deleted while the leader creates it never runs, and what comes after has its end', async () => {
    await start('before');
    const token = await cluster.newToken(1);
    const job = await told(token);
    await prepared(job);
    await cluster.create(job);
    await cluster.kube.delete(PROBE_JOBS, job.id, { namespace: cluster.namespace });
    await until('it is cancelled', () => whatOf(job).includes('cancel'));
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.reason, 'Cancelled');
    // The create of the leader lands now.
    gate!.open();
    await until('what it created has the recorded end', () => cluster.reason(job.id) === 'Cancelled', 15_000);
    const next = await cluster.submit({ token });
    await cluster.ended(next.id);
    assert.equal(runs(job), 0);
    await ranAlone(token);
  });

  it('one that has to wait is left to the API', async () => {
    const controller = await start();
    const token = await cluster.newToken(1);
    cluster.runners.behaviour.go = () => 'hold';
    const first = await cluster.submit({ token, announce: true });
    await until('it runs', () => cluster.runners.of(first.id));
    const second = await cluster.submit({ token, announce: true });
    await until('it waits', () => cluster.reason(second.id) === 'TokenAtLimit');
    assert.ok(!callsOf(controller, second).includes('create ProbeJob'));
    await cluster.runners.of(first.id)!.finish();
    await until('it runs', () => cluster.runners.of(second.id));
    await cluster.runners.of(second.id)!.finish();
    await succeeds(second);
    await ranAlone(token);
  });

  it('one that the API creates first is taken in, and runs once', async () => {
    const controller = await start('before');
    const job = await told();
    await until('the create of the leader is about to be sent', () => gate!.arrived.length === 1);
    await cluster.create(job);
    await until('the watch shows it', () => cluster.job(job.id));
    gate!.open();
    await succeeds(job);
    assert.deepEqual(callsOf(controller, job), ['create ProbeJob', 'status ProbeJob', 'status ProbeJob']);
    assert.equal(runs(job), 1);
    assert.equal(cluster.job(job.id)?.status?.attempts, 1);
  });

  it('a create whose response was lost is looked up, and the job runs once', async () => {
    cluster = await startCluster(small);
    const { api } = cluster.servers;
    const relay = await startRelay(api.host, api.port);
    const writes = await kubeClient({ kubeconfig: api.kubeconfigAt(relay.port), namespace: cluster.namespace });
    try {
      await cluster.controller({ writes });
      await cluster.ready(2);
      relay.cutAfter(1);
      const job = await cluster.submit({ announce: true });
      await succeeds(job);
      assert.equal(runs(job), 1);
      assert.equal(cluster.job(job.id)?.status?.attempts, 1);
    } finally {
      await cluster.stop();
      await writes.close();
      await relay.close();
    }
  });

  it('one whose leader dies after the create runs in the next term, once', async () => {
    const first = await start('after');
    const job = await told();
    await until('the leader has not seen the answer', () => gate!.arrived.length === 1);
    await until('it is admitted', () => isAdmitted(cluster.job(job.id)?.status));
    first.lease.ageMs = 60_000;
    await first.stop();
    await cluster.controller({ epoch: 2 });
    await succeeds(job);
    assert.equal(runs(job), 1);
    assert.equal(cluster.job(job.id)?.status?.admittedBy?.epoch, 2);
  });

  it('one whose leader dies before the create is created by the API, and runs in the next term', async () => {
    const first = await start('before');
    const job = await told();
    await until('the create of the leader is about to be sent', () => gate!.arrived.length === 1);
    first.lease.ageMs = 60_000;
    await first.stop();
    await cluster.controller({ epoch: 2 });
    await cluster.create(job);
    await succeeds(job);
    assert.equal(runs(job), 1);
  });

  it('one that reaches a leader whose term ends is left to the API at once', async () => {
    const first = await start();
    const job = await told();
    await succeeds(job);
    const calls = first.calls.length;
    void first.stop();
    const name = uuidv7(Date.now());
    const object = {
      ...(await cluster.kube.get(PROBE_JOBS, job.id)),
      metadata: { name, namespace: cluster.namespace },
    };
    assert.deepEqual(await announced(first.term.leader, object), { created: false });
    assert.equal(first.calls.length, calls);
  });

  it('nothing is created while the lease may end before the write, and the API does it', async () => {
    const controller = await start();
    controller.lease.ageMs = 4_500;
    const job = await cluster.submit({ announce: true });
    assert.deepEqual(callsOf(controller, job), []);
    await until('the watch shows it', () => cluster.job(job.id));
    controller.lease.ageMs = 100;
    await succeeds(job);
  });

  it('nothing is created for a request that was opened more than a second ago', async () => {
    const controller = await start();
    const spec = { submittedAt: new Date(Date.now() - 5_000).toISOString() };
    const job = await cluster.submit({ announce: true, create: false, open: false, spec });
    // What follows on the same subject is handled after it.
    await succeeds(await cluster.submit({ announce: true }));
    assert.deepEqual(callsOf(controller, job), []);
  });

  it(`tokens stay within their limits, whoever creates their jobs (SEED=${SEED})`, async () => {
    cluster = await startCluster({ pools: { short: { minReady: 6, maxPods: 6 } } });
    await cluster.controller();
    await cluster.ready(6);
    const random = seeded(SEED);
    cluster.runners.behaviour.go = () => ({ ms: Math.floor(random() * 30) });
    const limits = [1, 2, 3];
    const tokens = await Promise.all(limits.map((limit) => cluster.newToken(limit)));
    const one = async (): Promise<Submitted> => {
      const token = tokens[Math.floor(random() * tokens.length)]!;
      const how = random();
      if (how < 0.4) return cluster.submit({ token, announce: true });
      if (how < 0.6) return cluster.submit({ token });
      // Both: the API does not wait for the answer.
      const job = await cluster.submit({ token, announce: true, create: false });
      await cluster.create(job).catch(() => {});
      return job;
    };
    const jobs: Submitted[] = [];
    for (let round = 0; round < 20; round++) {
      jobs.push(...(await Promise.all([one(), one(), one(), one(), one()])));
      if (random() < 0.3) await cluster.kube.delete(PROBE_JOBS, jobs.at(-1)!.id).catch(() => {});
    }
    const records = await cluster.ended(...jobs.map(({ id }) => id));
    assert.deepEqual(
      records.filter(({ reason }) => reason !== 'Completed' && reason !== 'Cancelled'),
      [],
    );
    for (const [at, token] of tokens.entries()) assert.ok(cluster.most(token) <= limits[at]!, `token ${at}`);
    for (const { id } of jobs) {
      const began = cluster.runners.began.filter(({ job }) => job === id);
      assert.ok(began.length <= 1, `ran ${began.length} times: ${JSON.stringify(began)}`);
    }
  });
});
