import type { Cluster } from '../cluster/fixture.ts';
import { natsServers, natsServersKilled } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('a NATS server of three is lost, each in turn', function () {
  this.timeout(600_000);
  let c: Cluster;
  before(async function () {
    c = await wholeCluster();
    if ((await natsServers(c)).length >= 3) return;
    console.log('      skipped: needs three NATS servers, make up VALUES=test/faults/nats_of_three.yaml');
    this.skip();
  });
  after(() => c.close());

  it('no request is lost or doubled, and no connection of a caller breaks', async () => {
    assertTold(await underLoad(c, () => natsServersKilled(c)), 0.9, { answered: true });
    await settled(c);
  });
});
