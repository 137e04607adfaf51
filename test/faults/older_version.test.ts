import assert from 'node:assert/strict';
import { hasNode } from '../cluster/broken_images.ts';
import { cluster, type Cluster } from '../cluster/fixture.ts';
import { unlessLong } from '../long.ts';
import { releaseBefore } from '../older/older.ts';
import { openVersions, type Versions } from '../older/versions.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { rolledOut } from './rollout.ts';
import { whole } from './whole.ts';

const of = (digest: string): RegExp => new RegExp(`@${digest}$`);

describe('the release before is upgraded to this version under load, and back', function () {
  this.timeout(1_200_000);
  let c: Cluster;
  let versions: Versions | undefined;
  before(async function () {
    unlessLong(
      this,
      'it installs the release before in place of this version, and this one again, which takes minutes',
    );
    const release = await releaseBefore();
    if (release === undefined) {
      console.log('    skipped: there is no release before this version');
      this.skip();
    }
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    versions = await openVersions(release);
    await versions.install('older');
    c = await cluster();
    await whole(c);
  });
  after(async () => {
    await c?.close();
    await versions?.close();
  });

  it('every request has one end, whichever version accepted it and whichever ended it', async () => {
    const { digests, upgrade, rollback } = versions!;
    const reckoning = await underLoad(
      c,
      async () => {
        await upgrade();
        await rolledOut(c, of(digests.newer));
        await rollback();
        await rolledOut(c, of(digests.older));
      },
      { keepsWatches: true },
    );
    assertTold(reckoning, 0.9, { queueTimeouts: true });
    await settled(c);
  });

  it('the record of both is there after the last upgrade', async () => {
    const count = async () => Number(await c.sql('select count(*) from requests'));
    const before = await count();
    assert.ok(before >= 80, `${before} requests`);
    await versions!.upgrade();
    await rolledOut(c, of(versions!.digests.newer));
    assert.equal(await count(), before);
    const { token } = await c.newToken();
    const origin = await c.origin();
    const { status, text } = await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token });
    assert.equal(status, 200, text);
  });
});
