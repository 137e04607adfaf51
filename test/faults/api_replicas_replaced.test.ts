import type { Cluster } from '../cluster/fixture.ts';
import { apiReplicasReplaced } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('both API replicas are replaced in turn under load', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('each replica finishes its requests, and callers get the true outcome', async () => {
    assertTold(await underLoad(c, () => apiReplicasReplaced(c)), 0.7);
    await settled(c);
  });
});
