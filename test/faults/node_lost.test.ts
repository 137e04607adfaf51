import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { settled, underLoad } from './load.ts';
import { hasSecondNode, nodeLost, skipped, useSecondNode } from './nodes.ts';
import { wholeCluster } from './whole.ts';

describe('a node is lost under load, and comes back', function () {
  this.timeout(900_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('its jobs run on the other node, and callers get the true outcome or a broken connection', async function () {
    if (!(await hasSecondNode(c))) return skipped(this);
    await useSecondNode(c);
    // A connection to the lost node says nothing: callers need a timeout of their own.
    const { statuses, total, ms } = await underLoad(c, () => nodeLost(c), { patienceMs: 90_000, keepsWatches: true });
    const { 200: good = 0, 0: broken = 0, 429: late = 0 } = statuses;
    assert.equal(good + broken + late, total, JSON.stringify(statuses));
    assert.ok(good > total / 2, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
