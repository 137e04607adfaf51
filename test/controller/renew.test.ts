/** A runner whose place another tenant wants goes on in its pod, as another runner. */
import assert from 'node:assert/strict';
import { podOf } from '../../src/platform/bus/runner_id.ts';
import { type KubeClient, PODS } from '../../src/platform/kube/client.ts';
import { ANNOTATION } from '../../src/service/controller/pools/pod.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster, type ClusterOptions } from './cluster_parts.ts';

const reuse = { scope: 'account', renew: 'process', maxJobs: 100, maxAgeSeconds: 3600, idleSeconds: 600 } as const;
const small = { minReady: 0, maxPods: 1, reuse };

describe('renewal of runners', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const start = async (options: ClusterOptions = {}): Promise<Cluster> => {
    cluster = await startCluster({ pools: { short: small }, ...options });
    return cluster;
  };
  /** One job of a new account; the id of the runner that ran it. */
  const runOne = async (account?: number): Promise<string> => {
    const token = await cluster.newToken(5, account ?? (await cluster.newAccount()));
    const { id } = await cluster.submit({ token });
    const [record] = await cluster.ended(id);
    assert.equal(record?.reason, 'Completed');
    return cluster.runners.began.findLast(({ job }) => job === id)!.uid;
  };
  const lives = async (): Promise<(string | undefined)[]> =>
    (await cluster.pods()).map(({ metadata }) => metadata.annotations?.[ANNOTATION.life]);

  it('each tenant has a runner of its own in one pod, whose annotation shows the life', async () => {
    await start();
    const controller = await cluster.controller();
    const ids = [await runOne(), await runOne(), await runOne()];
    const [pod, ...more] = await cluster.pods();
    assert.deepEqual(more, []);
    const uid = pod!.metadata.uid!;
    assert.deepEqual(ids, [uid, `${uid}_1`, `${uid}_2`]);
    assert.deepEqual(await lives(), ['2']);
    const said = controller.log.filter(({ msg }) => msg === 'runner renewed');
    assert.deepEqual(
      said.map(({ runner, runner_uid }) => [runner, runner_uid]),
      ids.slice(1).map((id) => [pod!.metadata.name, id]),
    );
  });

  it('by default every tenant gets a pod of its own', async () => {
    await start({ pools: { short: { ...small, reuse: { ...reuse, renew: 'pod' } } } });
    await cluster.controller();
    const ids = [await runOne(), await runOne()];
    assert.equal(new Set(ids.map(podOf)).size, 2);
    assert.deepEqual(await lives(), [undefined]);
  });

  for (const [title, renew] of [
    ['refuses', 'refuse'],
    ['is of an older version', 'unknown'],
  ] as const)
    it(`a pod whose agent ${title} is ended, and another one serves`, async () => {
      await start({ runners: { renew } });
      const controller = await cluster.controller();
      const ids = [await runOne(), await runOne()];
      assert.equal(new Set(ids.map(podOf)).size, 2);
      assert.deepEqual(await lives(), [undefined]);
      const said = controller.log.filter(({ msg }) => msg === 'runner not renewed, ending its pod');
      assert.deepEqual(
        said.map(({ runner_uid, reason }) => [runner_uid, reason]),
        [[ids[0], renew === 'refuse' ? 'unclean' : 'absent']],
      );
    });

  it('a pod is ended after its maximum of jobs in all lives', async () => {
    await start({ pools: { short: { ...small, reuse: { ...reuse, maxJobs: 2 } } } });
    await cluster.controller();
    const ids = [await runOne(), await runOne(), await runOne()];
    assert.deepEqual([ids[1], podOf(ids[2]!) === podOf(ids[0]!)], [`${ids[0]}_1`, false]);
  });

  describe('of one tenant, without renewal between tenants', () => {
    const worn = { ...small, reuse: { ...reuse, renew: 'pod', maxJobs: 2 } } as const;

    it('after its maximum of jobs it goes on in its pod as another process', async () => {
      await start({ pools: { short: worn } });
      await cluster.controller();
      const a = await cluster.newAccount();
      const ids = [await runOne(a), await runOne(a), await runOne(a)];
      assert.deepEqual(ids, [ids[0], ids[0], `${ids[0]}_1`]);
      const [pod] = await cluster.pods();
      assert.deepEqual([pod?.metadata.annotations?.[ANNOTATION.tenant], await lives()], [`a:${a}`, ['1']]);
    });

    it('between two jobs of a full queue it goes on as another process, too', async () => {
      await start({ pools: { short: { ...worn, reuse: { ...worn.reuse, maxJobs: 4 } } } });
      await cluster.controller();
      const token = await cluster.newToken(10, await cluster.newAccount());
      const jobs = await Promise.all(Array.from({ length: 6 }, () => cluster.submit({ token })));
      await cluster.ended(...jobs.map(({ id }) => id));
      const uid = podOf(cluster.runners.began[0]!.uid);
      const ids = cluster.runners.began.map((one) => one.uid);
      assert.deepEqual(ids, [...Array<string>(4).fill(uid), `${uid}_1`, `${uid}_1`]);
    });

    it('its next process is for no other tenant, under a new leader too', async () => {
      await start({ pools: { short: worn } });
      const first = await cluster.controller();
      const [a, b] = [await cluster.newAccount(), await cluster.newAccount()];
      const uid = await runOne(a);
      assert.equal(await runOne(a), uid);
      await until('it has begun its next life', async () => (await lives())[0] === '1');
      await first.stop();
      await cluster.controller({ epoch: 2 });
      assert.notEqual(podOf(await runOne(b)), uid);
    });
  });

  it('a new leader reads the life from the pod: the owner of a former life does not bind it', async () => {
    await start();
    const first = await cluster.controller();
    const [a, b] = [await cluster.newAccount(), await cluster.newAccount()];
    const uid = await runOne(a);
    assert.equal(await runOne(b), `${uid}_1`);
    await first.stop();
    await cluster.controller({ epoch: 2 });
    await cluster.ready();
    // Account a had the pod before: it gets another life, not that of b.
    assert.equal(await runOne(b), `${uid}_1`);
    assert.equal(await runOne(a), `${uid}_2`);
    assert.deepEqual(await lives(), ['2']);
  });

  it('a pod that is deleted before its renewal is answered has no next life', async () => {
    const { kube, newAccount, runnerNamespace: namespace, runners } = await start();
    const opened = Promise.withResolvers<void>();
    let renewed = false;
    const writes: KubeClient = {
      ...kube,
      async mergePatch(type, name, patch, options) {
        const answer = await kube.mergePatch(type, name, patch, options);
        if (answer.metadata.annotations?.[ANNOTATION.life] === undefined) return answer;
        renewed = true;
        await opened.promise;
        return answer;
      },
    };
    const { sees, term } = await cluster.controller({ writes });
    const uid = await runOne();
    runners.behaviour.go = () => 'hold';
    const token = await cluster.newToken(5, await newAccount());
    const { id } = await cluster.submit({ token });
    await until('its place is renewed', () => renewed);
    const [pod] = await cluster.pods();
    await kube.delete(PODS, pod!.metadata.name, { namespace, gracePeriodSeconds: 0 });
    await until('the watch has shown that it is gone', () => !sees(pod!.metadata.name));
    opened.resolve();
    const elsewhere = await until('the job runs in another pod', () => {
      const runner = runners.of(id);
      return runner && podOf(runner.uid) !== uid ? runner : undefined;
    });
    await elsewhere.finish();
    await cluster.ended(id);
    assert.equal(term.runners.ofPod(uid), undefined);
  });

  it('the tenant of a life is never noted for the next one', async () => {
    const { kube, newAccount, pods } = await start();
    const tenant = async () => (await pods())[0]?.metadata.annotations?.[ANNOTATION.tenant];
    const opened = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    const writes: KubeClient = {
      ...kube,
      mergePatch(type, name, patch, options) {
        const send = () => kube.mergePatch(type, name, patch, options);
        const { annotations = {} } = (patch.metadata ?? {}) as { annotations?: object };
        if (late || String(Object.keys(annotations)) !== ANNOTATION.tenant) return send();
        const sent = opened.promise.then(send);
        late = sent;
        return sent;
      },
    };
    await cluster.controller({ writes });
    const [a, b] = [await newAccount(), await newAccount()];
    const uid = await runOne(a);
    await until('the first tenant is about to be noted', () => late !== undefined);
    assert.equal(await runOne(b), `${uid}_1`);
    opened.resolve();
    await assert.rejects(late!, { code: 'conflict' });
    await until('the second one is noted', async () => (await tenant()) === `a:${b}`);
    assert.equal(await runOne(a), `${uid}_2`);
    await until('then the first', async () => (await tenant()) === `a:${a}`);
  });

  it('an agent that claims another life is not heard', async () => {
    await start();
    await cluster.controller();
    const uid = await runOne();
    const claims = { ...cluster.runners.all()[0]!, uid: `${uid}_1` };
    const { bus } = cluster.servers;
    const lease = await bus.request<object>(
      `py.hb.${claims.uid}`,
      {
        protocol: 5,
        pod: claims.pod,
        uid: claims.uid,
        namespace: cluster.runnerNamespace,
        pool: 'short',
        generation: 'g',
        phase: 'idle',
        epoch: 1,
        jobsDone: 0,
        ageMs: 31_000,
        idleMs: 0,
      },
      2_000,
    );
    assert.deepEqual((lease as { drain?: boolean }).drain, true);
    assert.equal(await runOne(), `${uid}_1`, 'only the leader began that life');
  });
});
