import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { leaderKilled } from './injections.ts';
import { leaderPod, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('the leader is killed with -9 under load', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('every request has one end, no token exceeds its limit, and another replica leads within seconds', async () => {
    let failover = Infinity;
    const { statuses, total } = await underLoad(c, async () => {
      const [before, killedAt] = [await leaderPod(c), performance.now()];
      await leaderKilled(c);
      failover = performance.now() - killedAt;
      assert.notEqual(await leaderPod(c), before);
    });
    assert.equal(statuses[200], total, JSON.stringify(statuses));
    assert.ok(failover < 30_000, `${failover} ms`);
    console.log(`      failover: another holds the lease after ${Math.round(failover)} ms`);
    await settled(c);
  });
});
