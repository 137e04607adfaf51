import type { Cluster } from '../cluster/fixture.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { hasSecondNode, nodeDrained, skipped, useSecondNode } from './nodes.ts';
import { wholeCluster } from './whole.ts';

describe('a node is drained under load', function () {
  this.timeout(900_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('no job is lost, and callers get the true outcome', async function () {
    if (!(await hasSecondNode(c))) return skipped(this);
    await useSecondNode(c);
    assertTold(await underLoad(c, () => nodeDrained(c)), 1);
    await settled(c);
  });
});
