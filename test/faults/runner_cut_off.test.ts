import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { runnerCutOffFromNats } from './injections.ts';
import { settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('a runner is cut off from NATS while it works', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('its job runs elsewhere, and its late result changes nothing', async () => {
    const { statuses, total, ms } = await underLoad(c, () => runnerCutOffFromNats(c));
    const { 200: good = 0, 500: lost = 0 } = statuses;
    assert.equal(good + lost, total, JSON.stringify(statuses));
    assert.ok(lost <= 8, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
