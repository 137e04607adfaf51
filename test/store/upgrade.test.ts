/** The short form of `make bench-upgrade`, which has 20 million rows. */
import assert from 'node:assert/strict';
import { upgradeUnderLoad } from '../../bench/store/upgrade.ts';
import { PATIENCE } from '../patience.ts';

describe('store: an upgrade of full tables', function () {
  this.timeout(120_000);

  it('under load and beside a backup, no call waits for the backup, and none fails', async () => {
    const { calls, waits, migrations } = await upgradeUnderLoad(200_000);
    assert.ok(calls.count > 300, `${calls.count} calls`);
    // A second on a machine at rest, as the bench shows.
    assert.ok(calls.most < 1_000 * PATIENCE, `${calls.most} ms`);
    assert.ok(waits > 0, 'no migration met the backup');
    assert.ok(migrations.length >= 4);
  });
});
