import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { toolImagesGone } from './injections.ts';
import { settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';
import { unlessLong } from '../long.ts';

describe('the images of all tools are gone from the node', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'it waits for a pool that cannot start pods, which takes a minute');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('warm runners continue, and the pool is whole again when they are back', async () => {
    const { statuses, total, ms } = await underLoad(c, () => toolImagesGone(c));
    // Without a runner for long enough, requests reach their queue timeout.
    const { 200: good = 0, 429: late = 0, 500: lost = 0 } = statuses;
    assert.equal(good + late + lost, total, JSON.stringify(statuses));
    assert.ok(lost <= 8 && good >= total * 0.5, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
