import assert from 'node:assert/strict';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { jobsDeletedWithoutController } from './injections.ts';
import { settled, underLoad } from './load.ts';

describe('kubectl deletes all jobs while no controller runs', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('every request has an end all the same', async () => {
    const { statuses, total, ms } = await underLoad(c, () => jobsDeletedWithoutController(c), {
      queueTimeoutMs: 25_000,
    });
    // Deleted while they waited or ran: their callers are told so when their time in the queue is over.
    assert.ok((statuses[200] ?? 0) >= total * 0.3, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
