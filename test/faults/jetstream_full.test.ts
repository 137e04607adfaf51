import assert from 'node:assert/strict';
import { eventually, type Cluster } from '../cluster/fixture.ts';
import { assertTold, moment, settled, underLoad } from './load.ts';
import { onSmallDisk, type SmallDisk } from './small_disk.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

describe('the disk of JetStream is full for 30 s', function () {
  this.timeout(900_000);
  let c: Cluster;
  let disk: SmallDisk;
  before(async function () {
    unlessLong(this, 'NATS is moved to a small disk and back, which takes minutes');
    c = await wholeCluster();
    disk = await onSmallDisk(c, 'nats');
  });
  after(async () => {
    await disk?.remove();
    await c?.close();
  });

  it('runners keep their results, no request is lost or doubled, and it goes on once there is room', async () => {
    const origin = await c.origin();
    const reckoning = await underLoad(c, async () => {
      await disk.full(() => moment(30_000));
      await eventually('a probe is answered, once there is room', 120, async () => {
        const { status } = await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe', queue_timeout: 10_000 });
        return status === 200;
      });
    });
    assertTold(reckoning, 0.5, { queueTimeouts: true, answered: true });
    assert.equal(reckoning.statuses[500] ?? 0, 0, JSON.stringify(reckoning.statuses));
    await settled(c);
  });
});
