/** Tools that begin while their ProbeJob is being created: what the leader orders, and which slots that takes. */
import assert from 'node:assert/strict';
import { EARLY_OVER_MS, EARLY_TERM_MS } from '../../src/platform/bus/messages.ts';
import { KubeError, PODS, PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster, type ClusterOptions, type Submitted } from './cluster_parts.ts';
import type { ControllerOptions } from './controller_part.ts';
import { gateAtCreate, type Gate } from './obstacles.ts';

describe('early start', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  /** Holds the creates of the leader: a job in creation has begun and is not admitted. */
  let gate: Gate | undefined;
  afterEach(async () => {
    gate?.open();
    gate = undefined;
    await cluster?.stop();
  });

  const start = async (options: ClusterOptions = {}, of: Partial<ControllerOptions> = {}) => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } }, ...options });
    const controller = await cluster.controller(of);
    await cluster.ready(2);
    return controller;
  };
  const startHeld = async (options: ClusterOptions = {}) => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } }, ...options });
    gate = gateAtCreate(cluster.kube, 'before');
    const controller = await cluster.controller({ writes: gate.kube });
    await cluster.ready(2);
    return controller;
  };
  /** Of the leader alone, which gets an answer when the test says so. */
  const startRefused = async (): Promise<() => void> => {
    cluster = await startCluster({ pools: { short: { minReady: 2, maxPods: 2 } } });
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
  const begun = (job: Submitted) => until(`${job.id} has begun`, () => whatOf(job).includes('begin'));
  /** The leader is told, and nobody waits for its answer. */
  const told = (token?: number) =>
    cluster.submit({ ...(token === undefined ? {} : { token }), early: true, create: false });
  /** A job of the same token, which the limit keeps waiting. Resolves to the time at which it runs. */
  const runsAt = async (job: Submitted): Promise<number> => {
    await until(`${job.id} runs`, () => cluster.runners.of(job.id), 10_000);
    return performance.now();
  };

  it('begins on the runner that the job is admitted to, without a write, and runs once', async () => {
    const { calls } = await startHeld();
    const job = await told();
    await begun(job);
    assert.equal(cluster.job(job.id), undefined);
    gate!.open();
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    await until('the job is Completed', () => cluster.reason(job.id) === 'Completed');
    assert.deepEqual(whatOf(job), ['prepare', 'begin', 'go']);
    assert.equal(new Set(ordersOf(job).map(({ uid }) => uid)).size, 1);
    assert.equal(cluster.runners.began.filter((one) => one.job === job.id).length, 1);
    assert.equal(calls.filter(({ name }) => name === job.id).length, 2);
    assert.equal(cluster.job(job.id)?.status?.attempts, 1);
  });

  const runsWithout: [string, ClusterOptions, Partial<ControllerOptions>][] = [
    ['a runner that gives no number', { runners: { begins: () => false } }, {}],
    ['jobs.earlyStart: false', {}, { env: { PY_EARLY_START: 'false' } }],
  ];
  for (const [what, options, of] of runsWithout)
    it(`${what} is only prepared`, async () => {
      await start(options, of);
      const job = await cluster.submit({ early: true });
      const [record] = await cluster.ended(job.id);
      assert.equal(record?.state, 'success');
      assert.deepEqual(whatOf(job), ['prepare', 'go']);
    });

  it('of two requests of a token that may run one, one begins', async () => {
    await startHeld();
    const token = await cluster.newToken(1);
    const both = [await told(token), await told(token)];
    // Either: the token of both is read at once.
    await until('one of them has begun', () => both.some((job) => whatOf(job).includes('begin')));
    // What follows on the same subject was handled after both.
    await begun(await told());
    assert.deepEqual(both.map(whatOf).toSorted(), [[], ['prepare', 'begin']]);
  });

  it('the slot of a job that is not created is free when its runner has answered', async () => {
    const refuse = await startRefused();
    const token = await cluster.newToken(1);
    cluster.runners.behaviour.go = () => 'hold';
    const never = await told(token);
    await begun(never);
    const next = await cluster.submit({ token });
    await until('the next one waits for it', () => cluster.reason(next.id) === 'TokenAtLimit');
    refuse();
    await runsAt(next);
    assert.deepEqual(whatOf(never), ['prepare', 'begin', 'cancel']);
    assert.equal(cluster.most(token), 1);
  });

  it('the slot of a silent runner is free when its launcher has ended everything', async () => {
    const refuse = await startRefused();
    const { sql } = cluster.servers.stored;
    const account = await cluster.newAccount();
    await sql('update users set account_concurrency = 1 where id = $1', [account]);
    const [mine, other] = [await cluster.newToken(1, account), await cluster.newToken(1, account)];
    cluster.runners.behaviour.go = () => 'hold';
    const never = await told(mine);
    await begun(never);
    const since = performance.now();
    cluster.runners.all().find(({ orders }) => orders.some(({ job }) => job === never.id))!.mute = true;
    const next = await cluster.submit({ token: other });
    refuse();
    assert.ok((await runsAt(next)) - since >= EARLY_OVER_MS - 100, 'too early');
  });

  it('a job that the API creates after the leader could not is taken in beside what was begun', async () => {
    const refuse = await startRefused();
    const token = await cluster.newToken(1);
    const job = await told(token);
    await begun(job);
    refuse();
    await until('it is cancelled', () => whatOf(job).includes('cancel'));
    await cluster.create(job);
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    assert.equal(cluster.runners.began.filter((one) => one.job === job.id).length, 1);
    assert.equal(cluster.most(token), 1);
  });

  it('begins nothing if the lease may end before it', async () => {
    const { lease } = await start();
    lease.ageMs = 6_000 - EARLY_TERM_MS;
    const job = await cluster.submit({ early: true });
    // Enough of it is left for the admission.
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    assert.deepEqual(whatOf(job), ['prepare', 'go']);
  });

  it('looks at the lease after it has the number', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<boolean>();
    const begins = (): Promise<boolean> => {
      asked.resolve();
      return answer.promise;
    };
    const { lease } = await startHeld({ runners: { begins } });
    const job = await told();
    await asked.promise;
    lease.ageMs = 6_000 - EARLY_TERM_MS;
    answer.resolve(true);
    // One connection: the leader has the number before this comes back, and asks the same runner or another one.
    await cluster.servers.bus.flush();
    const next = await told();
    await until('the next one is prepared', () => whatOf(next).includes('prepare'));
    lease.ageMs = 0;
    gate!.open();
    await cluster.ended(job.id);
    assert.deepEqual(whatOf(job), ['prepare', 'go']);
  });

  it('a limit that is lowered meanwhile takes nothing away', async () => {
    const { term } = await startHeld();
    const token = await cluster.newToken(2);
    cluster.runners.behaviour.go = () => 'hold';
    const first = await cluster.submit({ token });
    await runsAt(first);
    const job = await told(token);
    await begun(job);
    await cluster.servers.stored.sql('update tokens set concurrency = 1 where id = $1', [token]);
    await term.leader.tokensChanged([token]);
    gate!.open();
    await runsAt(job);
    assert.deepEqual(whatOf(job), ['prepare', 'begin', 'go']);
  });

  it('a job whose pod is gone since runs on another', async () => {
    await startHeld();
    const job = await told();
    await begun(job);
    const { uid } = ordersOf(job)[0]!;
    const pod = (await cluster.pods()).find(({ metadata }) => metadata.uid === uid)!;
    await cluster.kube.delete(PODS, pod.metadata.name, { namespace: cluster.runnerNamespace, gracePeriodSeconds: 0 });
    await until('its runner is gone', () => cluster.runners.all().every((runner) => runner.uid !== uid));
    gate!.open();
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    assert.notEqual(cluster.runners.began.find((one) => one.job === job.id)?.uid, uid);
  });

  it('a job that is deleted before it is admitted ends what has begun, and so does one that comes after', async () => {
    await startHeld();
    const token = await cluster.newToken(1);
    const job = await told(token);
    await begun(job);
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
    assert.equal(cluster.runners.began.filter((one) => one.job === job.id).length, 0);
    assert.equal(cluster.most(token), 1);
  });

  it('a leader that ends on purpose waits for what has begun', async () => {
    const { stop } = await startHeld();
    const answered = await told();
    await begun(answered);
    const silent = await told();
    await begun(silent);
    const since = performance.now();
    cluster.runners.all().find(({ orders }) => orders.some(({ job }) => job === silent.id))!.mute = true;
    await stop();
    assert.ok(performance.now() - since >= EARLY_OVER_MS - 100, 'too early');
    assert.deepEqual(whatOf(answered), ['prepare', 'begin', 'cancel']);
  });

  it('a leader that ends on purpose goes at once if every runner has answered', async () => {
    const { stop } = await startHeld();
    const job = await told();
    await begun(job);
    const since = performance.now();
    await stop();
    assert.ok(performance.now() - since < EARLY_OVER_MS - 300, 'not when its time was over');
    assert.deepEqual(whatOf(job), ['prepare', 'begin', 'cancel']);
  });

  it('a new leader ends what it does not know, and runs the job', async () => {
    const first = await startHeld({ runners: { heartbeatMs: 100 } });
    const job = await told();
    await begun(job);
    // Cut off: it tells nobody, as if it had been killed.
    first.lease.ageMs = 6_000;
    await cluster.controller({ epoch: 2 });
    await until(
      'the runner is idle',
      () => cluster.runners.all().every(({ state }) => state.task === undefined),
      EARLY_OVER_MS,
    );
    await cluster.create(job);
    const [record] = await cluster.ended(job.id);
    assert.equal(record?.state, 'success');
    assert.equal(cluster.runners.began.filter((one) => one.job === job.id).length, 1);
  });
});
