import type { Cluster } from '../cluster/fixture.ts';
import { postgresStalled } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

describe('Postgres is stopped for 25 s and continued, three times', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'postgres_restarted and nats_stalled stand for it in the tests of every change');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('no request is lost or doubled, and each process keeps its number of connections', async () => {
    assertTold(await underLoad(c, () => postgresStalled(c, 3)), 0.1, { queueTimeouts: true, answered: true });
    await settled(c);
  });
});
