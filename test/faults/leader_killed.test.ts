import assert from 'node:assert/strict';
import { cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { leaderPod, pidsOf, settled, underLoad } from './load.ts';

describe('the leader is killed with -9 under load', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('every request has one end, no token is above its limit, and another leads within seconds', async () => {
    let failover = 0;
    const { statuses, total } = await underLoad(c, async () => {
      const before = await leaderPod(c);
      const pids = pidsOf('PY_POD_NAME', before);
      assert.ok(pids.length > 0, `no process of ${before} on this node`);
      const killedAt = performance.now();
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await eventually('another leads', 30, async () => {
        const now = await leaderPod(c);
        return now !== '' && now !== before;
      });
      failover = performance.now() - killedAt;
    });
    assert.equal(statuses[200], total, JSON.stringify(statuses));
    console.log(`      failover: another holds the lease after ${Math.round(failover)} ms`);
    await settled(c);
  });
});
