import { cluster, type Cluster } from '../cluster/fixture.ts';
import { postgresRefuses } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';

describe('Postgres refuses connections for 20 seconds', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('nothing is recorded twice or forgotten', async () => {
    assertTold(await underLoad(c, () => postgresRefuses(c)), 0.3);
    await settled(c);
  });
});
