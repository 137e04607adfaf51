/** Jobs with content checks: how far they are, in the status of their ProbeJob, and what they may decode. */
import assert from 'node:assert/strict';
import type { Go } from '../../src/platform/bus/messages.ts';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { ProbeJobStatus } from '../../src/platform/kube/probe_job.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';
import { until } from '../until.ts';
import { startCluster, TOOLS, type Cluster } from './cluster_parts.ts';
import { gateAt } from './obstacles.ts';

const CHECKS = { tool: 'qc' as const, version: '7.1', image: 'tools/qc:7.1', command: ['{root}/bin/ffmpeg'] };
const ASKED = [
  { name: 'ffprobe' as const, version: '7.0' },
  { name: 'qc' as const, version: '7.1' },
];

describe('a job with content checks', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  const orders: Go[] = [];
  beforeEach(async () => {
    orders.splice(0);
    const pools = { short: { minReady: 1, maxPods: 1, serves: { kinds: ['file' as const, 'qc' as const] } } };
    cluster = await startCluster({ pools, tools: [...TOOLS, CHECKS] });
    cluster.runners.behaviour.go = (order) => {
      orders.push(order);
      return 'hold';
    };
  });
  afterEach(() => cluster?.stop());
  const start = async (...options: Parameters<Cluster['controller']>): Promise<void> => {
    await cluster.controller(...options);
    await cluster.ready(1);
  };

  const statusOf = async (id: string): Promise<ProbeJobStatus | undefined> =>
    (await cluster.kube.get(PROBE_JOBS, id, { namespace: cluster.namespace })).status;
  const begin = async (token: number, tools: typeof ASKED = ASKED): Promise<string> => {
    const { id } = await cluster.submit({ token, spec: { tools } });
    await until('it runs', () => cluster.runners.of(id));
    return id;
  };
  const end = async (id: string): Promise<ProbeJobStatus> => {
    await cluster.runners.of(id)!.finish();
    await cluster.ended(id);
    return until('it is finished', async () => {
      const status = await statusOf(id);
      return status?.completedAt === undefined ? undefined : status;
    });
  };

  it('shows its progress after ten seconds, again ten seconds later, and none at its end', async () => {
    await start();
    const begun = performance.now();
    const id = await begin(await cluster.newToken(1));
    cluster.runners.behaviour.progress = 43;
    const shows = (percent: number) => async () => (await statusOf(id))?.progress === percent;
    await until('its first progress', shows(43), 20_000);
    assert.ok(performance.now() - begun > 10_000, 'a short job costs no write');
    cluster.runners.behaviour.progress = 57;
    const written = performance.now();
    await until('its next progress', shows(57), 20_000);
    assert.ok(performance.now() - written > 8_000, `after ${performance.now() - written} ms`);
    const last = await end(id);
    assert.deepEqual([last.progress, last.tools?.length, last.runner !== undefined], [undefined, 2, true]);
  });

  for (const where of ['before', 'after'] as const)
    it(`ends without a progress that is being written, held up ${where} it lands`, async () => {
      const gate = gateAt(cluster.kube, (status) => 'progress' in status && !('conditions' in status), where);
      await start({ writes: gate.kube });
      cluster.runners.behaviour.progress = 43;
      const id = await begin(await cluster.newToken(1));
      await until('its progress is being written', () => gate.arrived.length > 0, 20_000);
      const { conditions, progress } = await end(id);
      assert.equal(progress, undefined);
      gate.open();
      // The next job of the same runner begins and ends after that.
      await end(await begin(await cluster.newToken(1)));
      const after = await statusOf(id);
      assert.deepEqual([after?.progress, after?.conditions], [undefined, conditions]);
    });

  it('is told what the quota leaves when it begins, and only if one limits what is decoded', async () => {
    await start();
    const { store, sql } = cluster.servers.stored;
    const token = await cluster.newToken(1);
    await sql(`update tokens set monthly_quota = '{"decoded-seconds": 100}' where id = $1`, [token]);
    const before = anOpenInput(store, { tokenId: token, userId: cluster.servers.stored.admin.userId });
    await store.openRequest(before);
    await store.closeRequest(aCloseInput(before, { decodedSeconds: 30 }));
    for (const [by, tools] of [
      [token, ASKED],
      [token, ASKED.slice(0, 1)],
      [await cluster.newToken(1), ASKED],
    ] as const)
      await end(await begin(by, [...tools]));
    assert.deepEqual(
      orders.map(({ assignment }) => assignment.decodableSeconds),
      [70, undefined, undefined],
    );
  });
});
