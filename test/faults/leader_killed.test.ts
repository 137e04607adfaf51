import assert from 'node:assert/strict';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { leaderKilled } from './injections.ts';
import { settled, underLoad } from './load.ts';

describe('the leader is killed with -9 under load', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('every request has one end, no token is above its limit, and another leads within seconds', async () => {
    const { statuses, total } = await underLoad(c, () => leaderKilled(c));
    assert.equal(statuses[200], total, JSON.stringify(statuses));
    await settled(c);
  });
});
