import assert from 'node:assert/strict';
import type { Cluster } from '../cluster/fixture.ts';
import { jobsDeletedWithoutController } from './injections.ts';
import { settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('kubectl deletes all jobs while no controller runs', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('every request still gets its end', async () => {
    const { statuses, total, ms } = await underLoad(c, () => jobsDeletedWithoutController(c), {
      queueTimeoutMs: 25_000,
    });
    // Deleted while waiting or running. Their callers learn of it when the queue timeout has passed.
    assert.ok((statuses[200] ?? 0) >= total * 0.3, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
