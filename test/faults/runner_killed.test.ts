import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { agentsKilled, runnersKilled } from './injections.ts';
import { settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('runner pods are killed under load, busy and idle ones', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  for (const [what, kill] of [
    ['the pods', runnersKilled],
    ['the agents in them', agentsKilled],
  ] as const)
    it(`${what}: their jobs run again elsewhere, and each request has one end`, async () => {
      const { statuses, total } = await underLoad(c, () => kill(c));
      // Three lost runners in a row are a 500 that says so. Any other status would be wrong.
      const { 200: good = 0, 500: lost = 0 } = statuses;
      assert.equal(good + lost, total, JSON.stringify(statuses));
      assert.ok(lost <= 4, JSON.stringify(statuses));
      await settled(c);
    });
});
