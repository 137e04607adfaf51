import assert from 'node:assert/strict';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { verify } from '../../src/service/runner/verify.ts';
import { Rig } from '../runner/agent_rig.ts';
import { sendFile } from '../source/origin.ts';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED } from './rig.ts';
import { sampleOf } from './samples.ts';

describe('C2PA check in a runner', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new Rig();
  const signing = new C2paRig();
  const tool: AssignedTool = { name: 'c2pa', version: '1', timeoutMs: 20_000, options: {}, command: [programs.c2pa] };
  before(async () => {
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    await rig.stop();
    signing.close();
  });

  it('passes its proof by its version and by a file without a manifest', async () => {
    const proof = await verify(
      { tool: 'c2pa', version: '0.90', command: [programs!.c2pa] },
      { toolsDir: '/nowhere', nodePath: process.execPath },
    );
    assert.deepEqual(
      [proof.ok, proof.ok && proof.version.startsWith('c2pa 0.90.')],
      [true, true],
      JSON.stringify(proof),
    );
  });

  it("reads through the source proxy, under the launcher's limits", async () => {
    const [file] = signing.sign([{ ...sampleOf('MP4'), signer: await newSigner(await newAuthority('Root')) }]) as [
      Buffer,
    ];
    rig.serve = (request, response) => sendFile(file, request, response);
    const { body } = await rig.run(rig.go([tool], { source: `${rig.originUrl}/film.mp4?token=verysecretvalue1` }));
    const [result] = body.tools;
    assert.deepEqual([result?.success, result?.format, result?.error], [true, 'json', undefined]);
    assert.equal(JSON.parse(result?.output ?? '').validation_state, 'Valid');
    assert.ok(!JSON.stringify(body).includes('verysecret'));
  });

  it('fails with a clear error if the source is not media or does not exist', async () => {
    rig.serve = (request, response) => sendFile(Buffer.from('no media at all'), request, response);
    const none = (await rig.run(rig.go([tool]))).body.tools[0];
    assert.equal(none?.failure, 'failed');
    assert.match(none?.error ?? '', /^the source is not media: it is text, 15 B$/);
    rig.serve = (_request, response) => {
      response.writeHead(404).end('gone');
    };
    const gone = (await rig.run(rig.go([tool], { source: `${rig.originUrl}/gone.jpg` }))).body.tools[0];
    assert.equal(gone?.failure, 'origin-unreachable');
  });
});
