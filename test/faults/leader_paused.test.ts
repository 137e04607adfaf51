import assert from 'node:assert/strict';
import { LEASES } from '../../src/platform/kube/client.ts';
import { NAMESPACE, type Cluster } from '../cluster/fixture.ts';
import { leaderPaused } from './injections.ts';
import { leaseHolder, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('the leader is paused past its lease, and goes on believing that it leads', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('another replica leads meanwhile; no request has two ends, and no token exceeds its limit', async () => {
    const { statuses, total, ms } = await underLoad(c, async () => {
      const before = await leaseHolder(c);
      await leaderPaused(c);
      assert.notEqual(await leaseHolder(c), before);
    });
    assert.equal(statuses[200], total, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });

  it('the API server refuses a late admission of its term', async () => {
    const id = (await c.probe({ url: `${(await c.origin()).url}/tiny.mp4` })).headers.get('x-request-id') ?? '';
    const { spec } = await c.kube.get(LEASES, 'probeyard-controller', { namespace: NAMESPACE });
    const status = { admittedBy: { holder: 'paused', epoch: (spec?.leaseTransitions ?? 0) - 1 }, attempts: 2 };
    const as = ['--as', `system:serviceaccount:${NAMESPACE}:probeyard-controller`, '-n', NAMESPACE];
    const late = c.kubectl(...as, 'patch', 'pj', id, '--type=merge', '-p', JSON.stringify({ status }));
    await assert.rejects(late, (error: Error & { stderr?: string }) =>
      /another controller leads since/.test(error.stderr ?? ''),
    );
  });
});
