import type { Cluster } from '../cluster/fixture.ts';
import { natsStalled } from './injections.ts';
import { inFull } from '../long.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';

describe('NATS is stopped for 25 s and continued, three times', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('no request is lost or doubled, and each process keeps its number of connections', async () => {
    assertTold(await underLoad(c, () => natsStalled(c, inFull() ? 3 : 1)), 0.3, {
      queueTimeouts: true,
      answered: true,
    });
    await settled(c);
  });
});
