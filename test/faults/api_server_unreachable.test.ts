import type { Cluster } from '../cluster/fixture.ts';
import { apiServerUnreachable } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';
import { unlessLong } from '../long.ts';

describe('the API server does not answer for 20 seconds', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'api_server_restarted stands for it in the tests of every change');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('requests that arrive meanwhile wait and get their end', async () => {
    // Runners lost meanwhile are replaced. On a slow node some requests wait longer than their queue timeout.
    assertTold(await underLoad(c, () => apiServerUnreachable(c)), 0.7, { queueTimeouts: true });
    await settled(c);
  });
});
