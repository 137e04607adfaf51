import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { sampleOf } from './samples.ts';

describe('C2PA check of a manifest stored elsewhere', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  after(() => rig.close());

  it('does not fetch it, whatever the settings of the operator say', async () => {
    let connections = 0;
    const trap = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => {
      trap.listen(0, '127.0.0.1', resolve);
    });
    try {
      const remote = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/manifest.c2pa`;
      const [file] = rig.sign([
        { ...sampleOf('JPEG'), signer: await newSigner(await newAuthority('Root')), remote },
      ]) as [Buffer];
      const config = rig.config({
        'settings.json': JSON.stringify({
          verify: { remote_manifest_fetch: true, ocsp_fetch: true },
          core: { allowed_network_hosts: ['*'] },
        }),
      });
      const report = await rig.report(file, config);
      assert.deepEqual([report.active_manifest, report.remote_manifest, connections], [null, remote, 0]);
    } finally {
      trap.close();
    }
  });
});
