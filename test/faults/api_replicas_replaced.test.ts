import assert from 'node:assert/strict';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { apiReplicasReplaced } from './injections.ts';
import { settled, underLoad } from './load.ts';

describe('both API replicas are replaced in turn under load', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('each finishes what it took, and the callers are told the truth', async () => {
    const { statuses, total, ms } = await underLoad(c, () => apiReplicasReplaced(c));
    const { 200: good = 0, 500: ours = 0, 0: broken = 0 } = statuses;
    assert.equal(good + ours + broken, total, JSON.stringify(statuses));
    assert.ok(good >= total * 0.7, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
