import assert from 'node:assert/strict';
import { SUBJECT, type Go } from '../../src/platform/bus/messages.ts';
import { packResult } from '../result/text_body.ts';
import { PODS } from '../../src/platform/kube/client.ts';
import { startCluster, type Cluster } from '../controller/cluster_parts.ts';
import { success } from '../controller/simulated_runners.ts';
import { until } from '../until.ts';
import { partLoad, reckon } from './part_reckoning.ts';

const JOBS = 200;

describe('a runner answers twice, or its first answer comes after the second attempt was recorded', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = await startCluster({ pools: { short: { minReady: 12, maxPods: 24 } } });
  });
  afterEach(() => cluster.stop());
  const ready = () =>
    until('runners are ready', () => cluster.runners.all().filter(({ state }) => state.epoch > 0).length >= 12, 20_000);

  /** Like a foreign runner, without the id by which JetStream recognises a duplicate. */
  async function publish({ job, attempt, epoch }: Go, order: Go, uid: string, ioUsage: number): Promise<void> {
    const { header } = await packResult({ ...success(order), ioUsage }, { job, attempt, epoch, podUid: uid });
    await cluster.servers.bus.js.publish(SUBJECT.result(uid), new TextEncoder().encode(JSON.stringify(header)));
  }

  it('200 jobs on 5 tokens with three results each have one end each', async () => {
    const { controller, runners } = cluster;
    await controller();
    await ready();
    let extra = 0;
    const sent: Promise<void>[] = [];
    runners.behaviour.go = (order, { uid }) => {
      const says = (ms: number) => {
        sent.push(
          new Promise<void>((resolve, reject) => {
            setTimeout(() => publish(order, order, uid, 500_000 + ms).then(resolve, reject), ms);
          }),
        );
        extra += 1;
      };
      says(5);
      says(60);
      return { ms: 20 };
    };
    const { ends, most } = await reckon(cluster, await partLoad(cluster, JOBS));
    await Promise.all(sent);
    assert.deepEqual(ends, { Completed: JOBS });
    assert.equal(extra, 2 * JOBS, 'each ran once');
    console.log(`      ${JOBS} jobs, ${extra} answers too many, at most ${most} of a token at once`);
  });

  it('the late result of every fifth runner, recorded elsewhere meanwhile, changes nothing', async () => {
    const {
      controller,
      runners,
      kube,
      runnerNamespace,
      servers: { bus, stored },
    } = cluster;
    await controller();
    await ready();
    const late: { order: Go; uid: string }[] = [];
    let began = 0;
    runners.behaviour.go = (order, { pod, uid }) => {
      if (order.attempt > 1 || ++began % 5 > 0) return { ms: 20 };
      late.push({ order, uid });
      void kube.delete(PODS, pod, { namespace: runnerNamespace, gracePeriodSeconds: 0 });
      return 'hold';
    };
    const load = await partLoad(cluster, JOBS);
    const { ends } = await reckon(cluster, load);
    assert.deepEqual(ends, { Completed: JOBS });
    assert.ok(late.length >= JOBS / 5, `${late.length} were lost`);
    const envelopes = () =>
      stored.sql<{ id: string; sum: string }>(
        'select id, md5(body) sum from envelopes where id = any($1) order by id',
        [load.submitted.map(({ id }) => id)],
      );
    const before = await envelopes();
    const collected = new Set<string>();
    const hearing = late.map(({ uid }) =>
      bus.subscribe<{ job: string }>(SUBJECT.collected(uid), ({ message }) => void collected.add(message.job)),
    );
    await bus.flush();
    for (const { order, uid } of late) await publish(order, order, uid, 999_999);
    await until(
      'each of them was taken from the stream',
      () => late.every(({ order }) => collected.has(order.job)),
      20_000,
    );
    for (const one of hearing) one.stop();
    assert.deepEqual(await envelopes(), before);
    const again = await reckon(cluster, load, 60_000, true);
    assert.deepEqual(again.ends, ends);
    console.log(`      ${late.length} answers came too late`);
  });
});
