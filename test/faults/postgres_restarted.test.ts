import type { Cluster } from '../cluster/fixture.ts';
import { postgresReplaced } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('Postgres is restarted under load', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('no request is lost or doubled, and no token exceeds its limit', async () => {
    assertTold(await underLoad(c, () => postgresReplaced(c, 90)), 0.3, { answered: true });
    await settled(c);
  });
});
