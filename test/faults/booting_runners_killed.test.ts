import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { bootingRunnersKilled } from './injections.ts';
import { settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

describe('runner pods are killed while they start', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'the pool waits longer after each pod that never was ready');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('the pool creates others, and every request gets its end', async () => {
    const { statuses, total, ms } = await underLoad(c, () => bootingRunnersKilled(c));
    // Without a runner for long enough, requests reach their queue timeout.
    const { 200: good = 0, 429: late = 0, 500: lost = 0 } = statuses;
    assert.equal(good + late + lost, total, JSON.stringify(statuses));
    assert.ok(lost <= 8 && good >= total * 0.5, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
