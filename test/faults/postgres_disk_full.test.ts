import assert from 'node:assert/strict';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { assertTold, moment, settled, underLoad } from './load.ts';
import { onSmallDisk, type SmallDisk } from './small_disk.ts';
import { unlessLong } from '../long.ts';
import { wholeCluster } from './whole.ts';

const of = ['-n', NAMESPACE];
const POD = 'probeyard-postgres-0';

describe('the disk of Postgres is full for 20 s, and then for its write-ahead log, too', function () {
  this.timeout(900_000);
  let c: Cluster;
  let disk: SmallDisk;
  before(async function () {
    unlessLong(this, 'Postgres is moved to a small disk and back, which takes minutes');
    c = await wholeCluster();
    disk = await onSmallDisk(c, 'postgres');
  });
  after(async () => {
    await disk?.remove();
    await c?.close();
  });

  /** Takes new segments of the log until there is no room for another: the server then ends itself. */
  async function logUsedUp(): Promise<void> {
    const psql = ['psql', '-X', '-q', '-h', '/run/postgresql', '-U', 'postgres', 'probeyard', '-c'];
    const sql = "select pg_logical_emit_message(true, 'test', 'x'); select pg_switch_wal()";
    const restarts = async (): Promise<string> =>
      c.kubectl(...of, 'get', 'pod', POD, '-o', 'jsonpath={.status.containerStatuses[0].restartCount}');
    const before = await restarts();
    await eventually('Postgres ends itself', 60, async () => {
      // The last one ends with the server.
      await c.kubectl(...of, 'exec', POD, '-c', 'postgres', '--', ...psql, sql).catch(() => {});
      return (await restarts()) !== before;
    });
  }

  it('callers get 503, no request is lost or doubled, and it goes on once there is room', async () => {
    const reckoning = await underLoad(c, () =>
      disk.full(async () => {
        await moment(20_000);
        await logUsedUp();
        await eventually('a new request is refused as one that may be repeated', 60, async () => {
          const asked = { url: `http://${c.hostIp}:9/clip.mp4`, only: 'ffprobe' };
          const { status, headers } = await c.probe(asked, { signal: AbortSignal.timeout(10_000) });
          return status === 503 && Number(headers.get('retry-after')) > 0;
        });
        await moment(10_000);
      }),
    );
    assertTold(reckoning, 0.1, { queueTimeouts: true, answered: true });
    assert.equal(reckoning.statuses[500] ?? 0, 0, 'a full disk is no internal error');
    await settled(c);
  });
});
