import assert from 'node:assert/strict';
import { NAMESPACE, cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { PODS } from '../../src/kube/client.ts';
import { killPod, settled, underLoad } from './load.ts';

describe('Postgres is restarted under load', function () {
  this.timeout(300_000);
  let c: Cluster;
  before(async () => { c = await cluster(); });
  after(() => c.close());

  it('no request is lost or doubled, and no token is above its limit', async () => {
    const { statuses, total } = await underLoad(c, async () => {
      const before = await c.kube.get(PODS, 'probeyard-postgres-0', { namespace: NAMESPACE });
      await killPod(c, NAMESPACE, 'probeyard-postgres-0');
      await eventually('it is back', 90, async () => {
        const pod = await c.kube.get(PODS, 'probeyard-postgres-0', { namespace: NAMESPACE });
        return pod.metadata.uid !== before.metadata.uid && pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      });
    });
    const { 200: good = 0, 500: refused = 0, 0: broken = 0 } = statuses;
    assert.equal(good + refused + broken, total, JSON.stringify(statuses));
    assert.ok(good >= total * 0.5, JSON.stringify(statuses));
    console.log(`      callers were told: ${JSON.stringify(statuses)}`);
    await settled(c);
  });
});
