/** Runners with a compromised agent: their claims about other pods, tenants and jobs change nothing. */
import assert from 'node:assert/strict';
import { SUBJECT, type Heartbeat, type Lease, RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { PODS, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { ANNOTATION } from '../../src/service/controller/pools/pod.ts';
import { heartbeatOf } from '../../src/service/runner/orders.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';
import type { SimulatedRunner } from './simulated_runners.ts';

describe('a compromised runner', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  async function start() {
    cluster = await startCluster({
      pools: {
        short: {
          minReady: 2,
          maxPods: 2,
          reuse: { scope: 'token', maxJobs: 1_000, maxAgeSeconds: 3600, idleSeconds: 600 },
        },
      },
    });
    const controller = await cluster.controller();
    await cluster.ready(2);
    return controller;
  }
  /** A heartbeat as the agent of that pod would send it. */
  const beatOf = (runner: SimulatedRunner, change: Partial<Heartbeat> = {}): Heartbeat => ({
    ...heartbeatOf(
      runner.state,
      {
        protocol: RUNNER_PROTOCOL,
        pod: runner.pod,
        uid: runner.uid,
        namespace: cluster.runnerNamespace,
        pool: 'short',
        generation: '',
      },
      0,
      performance.now(),
    ),
    ...change,
  });
  const say = (as: SimulatedRunner, beat: unknown, withinMs = 10_000): Promise<Lease | undefined> =>
    cluster.servers.bus.request<Lease>(SUBJECT.heartbeat(as.uid), beat, withinMs).catch(() => undefined);
  const tenants = async () => (await cluster.pods()).map(({ metadata }) => metadata.annotations?.[ANNOTATION.tenant]);
  /** The lies come first, on one connection: when a true heartbeat is answered, they were read. */
  const unanswered = async (as: SimulatedRunner, lies: readonly unknown[], truth: Heartbeat): Promise<void> => {
    const answers = Promise.all(lies.map((lie) => say(as, lie, 1_000)));
    assert.ok(await say(as, truth), 'its own is answered');
    assert.deepEqual(
      await answers,
      lies.map(() => undefined),
    );
  };

  it("cannot send heartbeats for another pod: that pod's job continues", async () => {
    const { log } = await start();
    const { submit, runners, ended, job } = cluster;
    runners.behaviour.go = () => 'hold';
    const { id } = await submit();
    const honest = await until('it runs', () => runners.of(id));
    const liar = runners.all().find(({ uid }) => uid !== honest.uid)!;
    // If one counted, the leader would consider the job done or lost, or the pod one of a later term.
    const lies = [
      { phase: 'idle', jobsDone: 50 },
      { phase: 'idle', jobsDone: 0 },
      { phase: 'draining' },
      { phase: 'idle', epoch: 99 },
    ] as const;
    await unanswered(
      liar,
      lies.map((lie) => beatOf(honest, { ...lie, job: undefined } as never)),
      beatOf(liar),
    );
    assert.equal(log.filter(({ msg }) => msg === 'dropped a heartbeat with the identity of another pod').length, 4);
    await honest.finish();
    assert.equal((await ended(id))[0]?.status, 200);
    assert.equal(job(id)?.status?.attempts, 1);
  });

  it('cannot keep the leader busy: its pod is ended, and other runners are served', async () => {
    const { log } = await start();
    const [liar, honest] = cluster.runners.all() as [SimulatedRunner, SimulatedRunner];
    const { bus } = cluster.servers;
    // Not JSON, so that each parsed one would be an error. All sent at once: more than the rate refills meanwhile.
    for (let sent = 0; sent < 2_000; sent++) bus.connection.publish(SUBJECT.heartbeat(liar.uid), '{');
    await bus.flush();
    await until(
      'its pod is gone',
      async () =>
        !(await cluster.kube.list(PODS, { namespace: cluster.runnerNamespace })).items.some(
          ({ metadata }) => metadata.uid === liar.uid,
        ),
    );
    assert.equal(log.filter(({ msg }) => msg === 'runner floods NATS, ending its pod').length, 1);
    assert.ok(await say(honest, beatOf(honest)), 'the other is answered');
  });

  it('cannot change its tenant: it receives no source of another tenant', async () => {
    await start();
    const { submit, runners, ended, newToken } = cluster;
    const [mine, other] = [await newToken(2), await newToken(2)];
    await ended((await submit({ token: mine })).id);
    const liar = runners.all().find(({ state }) => state.tenant !== undefined)!;
    const bound = liar.state.tenant!;
    const elsewhere = bound.replace(String(mine), String(other));
    assert.notEqual(elsewhere, bound);
    await until('it is idle again', () => liar.state.task === undefined && liar.state.publishing.length === 0);
    liar.state = { ...liar.state, tenant: elsewhere };
    await liar.beat();
    assert.ok(await say(liar, beatOf(liar)));
    const seen = liar.orders.length;
    await ended((await submit({ token: other })).id);
    assert.deepEqual(liar.orders.slice(seen), []);
  });

  for (const [what, claimed, cleaned] of [
    ["of another tenant to a new leader, which knows the pod's tenant", true, false],
    ["untouched to a new leader, which knows the pod's tenant", false, false],
    ['of another tenant to a new leader after its job was deleted', true, true],
    ['untouched to a new leader after its job was deleted', false, true],
  ] as const)
    it(`cannot report itself as ${what}`, async () => {
      const first = await start();
      const { submit, runners, ended, newToken } = cluster;
      const [mine, other] = [await newToken(2), await newToken(2)];
      await ended((await submit({ token: mine })).id);
      const liar = runners.all().find(({ state }) => state.tenant !== undefined)!;
      await until(
        'it is idle again, and the job says where it ran',
        () =>
          liar.state.task === undefined &&
          liar.state.publishing.length === 0 &&
          cluster.reason(runners.began[0]!.job) === 'Completed',
      );
      if (cleaned) {
        await until('its pod has the tenant', async () => (await tenants()).includes(liar.state.tenant));
        // As the clean-up of finished jobs does.
        await cluster.kube.delete(PROBE_JOBS, runners.began[0]!.job, { namespace: cluster.namespace });
        await until('the job is gone', () => cluster.job(runners.began[0]!.job) === undefined);
      }
      await first.stop();
      liar.state = {
        ...liar.state,
        tenant: claimed ? liar.state.tenant!.replace(String(mine), String(other)) : undefined,
      };
      const honest = runners.all().find(({ uid }) => uid !== liar.uid)!;
      runners.behaviour.go = () => 'hold';
      await cluster.controller({ epoch: 2 });
      await until('both runners have seen the new epoch', () => [liar, honest].every(({ state }) => state.epoch === 2));
      const seen = liar.orders.length;
      const [one, two] = [await submit({ token: other }), await submit({ token: other })];
      await until('one runs', () => runners.of(one.id));
      await runners.of(one.id)!.finish();
      await until('the second runs', () => runners.of(two.id));
      await runners.of(two.id)!.finish();
      await ended(one.id, two.id);
      assert.deepEqual(
        liar.orders.slice(seen).filter(({ job }) => [one.id, two.id].includes(job)),
        [],
      );
    });

  it("cannot end another runner's job by claiming it", async () => {
    await start();
    const { submit, runners, ended, job } = cluster;
    runners.behaviour.go = () => 'hold';
    const { id } = await submit();
    const honest = await until('it runs', () => runners.of(id));
    const liar = runners.all().find(({ uid }) => uid !== honest.uid)!;
    const claim = { job: id, attempt: 1 };
    const answer = await say(liar, beatOf(liar, { ...claim, phase: 'running' }));
    assert.deepEqual(answer?.cancel, claim, 'it is told to stop');
    await cluster.kube.delete(PODS, liar.pod, { namespace: cluster.runnerNamespace, gracePeriodSeconds: 0 });
    await until('its pod is gone', () => !runners.all().includes(liar));
    await honest.finish();
    assert.equal((await ended(id))[0]?.status, 200);
    assert.equal(job(id)?.status?.attempts, 1);
    assert.equal(runners.began.length, 1);
  });

  it('gets no reply to a malformed heartbeat', async () => {
    await start();
    const [liar] = cluster.runners.all();
    const beats = [
      null,
      7,
      'x',
      [],
      {},
      { uid: liar!.uid },
      beatOf(liar!, { phase: 'other' as never }),
      beatOf(liar!, { epoch: '9' as never }),
      beatOf(liar!, { tenant: 'x'.repeat(10_000) }),
      beatOf(liar!, { jobsDone: -1 }),
    ];
    await unanswered(liar!, beats, beatOf(liar!));
  });
});
