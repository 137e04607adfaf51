import { cluster, type Cluster } from '../cluster/fixture.ts';
import { apiServerRestarted } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';

describe('the API server is killed and started again', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('what came meanwhile waits and has its end', async () => {
    // Runners that were lost meanwhile are made anew: on a slow node some requests wait for longer than they may.
    assertTold(await underLoad(c, () => apiServerRestarted(c)), 0.7, { queueTimeouts: true });
    await settled(c);
  });
});
