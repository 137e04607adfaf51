import assert from 'node:assert/strict';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { apiServerRestarted } from './injections.ts';
import { settled, underLoad } from './load.ts';

describe('the API server is killed and started again', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('what came meanwhile waits and has its end', async () => {
    const { statuses, total, ms } = await underLoad(c, () => apiServerRestarted(c));
    const { 200: good = 0, 500: ours = 0, 0: broken = 0 } = statuses;
    assert.equal(good + ours + broken, total, JSON.stringify(statuses));
    assert.ok(good >= total * 0.7, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
