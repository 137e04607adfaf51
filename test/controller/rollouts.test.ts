import assert from 'node:assert/strict';
import { until } from '../until.ts';
import { CONFIG_MAPS, LEASES, PROBE_POOLS } from '../../src/platform/kube/client.ts';
import { PATIENCE } from '../patience.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';
import { gateAt } from './obstacles.ts';
import { chart, rollOut } from './rollouts.ts';

describe('change of the leader', function () {
  this.timeout(PATIENCE * 60_000);
  let cluster: Cluster;
  let openGate = (): void => {};
  afterEach(async () => {
    openGate();
    await cluster?.stop();
  });

  it('twelve rollouts take no lease from a living holder, and no deposed leader goes on with its work', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 0 } } });
    const { terms, taken, workAfter } = await rollOut(cluster, 12, 1);
    assert.deepEqual({ taken, workAfter }, { taken: [], workAfter: [] });
    assert.ok(terms >= 12, `${terms} terms`);
  });

  it('a replica that loses the lease while its term starts ends the start at once', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 0 } } });
    await chart(cluster.kube, 0);
    const fence = gateAt(cluster.kube, (status) => 'epoch' in status, 'before');
    openGate = fence.open;
    const calls: string[] = [];
    const { log } = await cluster.candidate({
      collects: false,
      writes: {
        ...fence.kube,
        apply: (type, object, options) => {
          calls.push(`${type.kind} ${object.metadata.name}`);
          return cluster.kube.apply(type, object, options);
        },
      },
    });
    const said = (line: string) => log.filter(({ msg }) => msg === line).length;
    await until('it writes its term to the pools', () => fence.arrived.length > 0);
    await cluster.kube.mergePatch(LEASES, 'probeyard-controller', {
      spec: { holderIdentity: 'another', leaseTransitions: 7, leaseDurationSeconds: 60 },
    });
    await until(
      'the start is over, though its call is not',
      () => said('lost the lease before the term started'),
      3_000,
    );
    fence.open();
    await until('the late write was made', async () => (await cluster.kube.get(PROBE_POOLS, 'short')).status?.epoch);
    assert.deepEqual([calls, said('term started'), said('catalog applied')], [[], 0, 0]);
    // Nothing of the term is left: its watches would count the next term's pools.
    await cluster.kube.mergePatch(LEASES, 'probeyard-controller', { spec: { holderIdentity: null } });
    await until('it leads again', () => said('catalog applied') === 1, 20_000);
    assert.equal((await cluster.kube.get(PROBE_POOLS, 'short')).status?.epoch, 8);
  });

  it('a leader that is deposed while it applies the catalog makes no further call', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 0 } } });
    await chart(cluster.kube, 0);
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    openGate = gate.resolve;
    const calls: string[] = [];
    const { log } = await cluster.candidate({
      collects: false,
      writes: {
        ...cluster.kube,
        apply: async (type, object, options) => {
          if (type === CONFIG_MAPS) return cluster.kube.apply(type, object, options);
          calls.push(object.metadata.name);
          reached.resolve();
          await gate.promise;
          return cluster.kube.apply(type, object, options);
        },
      },
    });
    const said = (line: string) => log.some(({ msg }) => msg === line);
    await reached.promise;
    await cluster.kube.mergePatch(LEASES, 'probeyard-controller', {
      spec: { holderIdentity: 'another', leaseTransitions: 7, leaseDurationSeconds: 60 },
    });
    await until('it knows', () => said('no longer leading'));
    gate.resolve();
    await until('it stops', () => said('catalog not applied, the term is over'));
    assert.deepEqual([calls.length, said('catalog applied')], [1, false]);
  });
});
