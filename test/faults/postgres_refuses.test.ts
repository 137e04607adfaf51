import assert from 'node:assert/strict';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { postgresRefuses } from './injections.ts';
import { settled, underLoad } from './load.ts';

describe('Postgres refuses connections for 20 seconds', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('nothing is recorded twice or forgotten', async () => {
    const { statuses, total, ms } = await underLoad(c, () => postgresRefuses(c));
    const { 200: good = 0, 500: ours = 0, 0: broken = 0 } = statuses;
    assert.equal(good + ours + broken, total, JSON.stringify(statuses));
    assert.ok(good >= total * 0.3, JSON.stringify(statuses));
    console.log(`      callers were told ${JSON.stringify(statuses)} in ${Math.round(ms / 1000)} s`);
    await settled(c);
  });
});
