import assert from 'node:assert/strict';
import { newAuthority, newSigner } from '../c2pa/pki.ts';
import type { C2paReport } from '../../src/media/tools/c2pa_schema.ts';
import { C2paRig, programs, WHY_SKIPPED } from '../c2pa/rig.ts';
import { sampleOf } from '../c2pa/samples.ts';
import { sendFile } from '../source/origin.ts';
import { cluster, type Cluster } from './fixture.ts';

interface Part {
  success: boolean;
  error?: string;
  duration: number;
  usage: number;
  response: C2paReport;
}

describe('C2PA check on the cluster', function () {
  this.timeout(60_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  let c: Cluster;
  let origin: string;
  before(async () => {
    c = await cluster();
    const signer = await newSigner(await newAuthority('Root'));
    const [jpeg, mp4] = rig.sign(['JPEG', 'MP4'].map((name) => ({ ...sampleOf(name), signer }))) as [Buffer, Buffer];
    const broken = Buffer.from(mp4);
    broken[broken.length - 1]! ^= 1;
    const files: Record<string, Buffer> = {
      '/photo.jpg': jpeg,
      '/film.mp4': mp4,
      '/broken.mp4': broken,
      '/plain.jpg': sampleOf('JPEG').bytes,
      '/text.txt': Buffer.from('no media at all'),
    };
    origin = (
      await c.origin((request, response) => {
        const file = files[request.url ?? ''];
        if (file) sendFile(file, request, response);
        else response.writeHead(404).end('not here');
      })
    ).url;
  });
  after(async () => {
    rig.close();
    await c.close();
  });

  const check = (name: string, more: object = {}) =>
    c.probe({ url: `${origin}/${name}`, ...more }, { path: '/v1/probe/c2pa' });

  it('returns the report bare, enveloped as text and enveloped as an object', async () => {
    const bare = await check('photo.jpg');
    assert.equal(bare.status, 200, bare.text);
    const report = JSON.parse(bare.text) as C2paReport;
    assert.equal(report.validation_state, 'Valid');
    assert.ok(report.active_manifest && report.manifests[report.active_manifest]);

    for (const [more, output] of [
      [{ inject_output: false }, (value: unknown) => JSON.parse(String(value))],
      [{ inject_output: false, inject_json: true }, (value: unknown) => value],
    ] as const) {
      const { json } = await check('photo.jpg', more);
      assert.deepEqual(Object.keys(json), ['success', 'output', 'metadata']);
      assert.deepEqual((output(json['output']) as C2paReport).manifests, report.manifests);
      const metadata = json.metadata as unknown as Record<string, number>;
      assert.ok(metadata['io_usage']! > 0 && metadata['duration']! > 0);
    }
  });

  it('reports Invalid and a missing manifest as successes, and a file that is not media as a failure', async () => {
    assert.equal((JSON.parse((await check('broken.mp4')).text) as C2paReport).validation_state, 'Invalid');
    assert.deepEqual(JSON.parse((await check('plain.jpg')).text), {
      active_manifest: null,
      manifests: {},
      validation_state: null,
      validation_results: null,
      summary: { state: 'none', signer: null, declared_ai: null, actions: [] },
    });
    const text = await check('text.txt');
    assert.deepEqual([text.status, text.json.success], [200, false]);
    assert.match(text.json.error!, /^the source is not media: it is text, \d+ B$/);
    const gone = await check('gone.jpg');
    assert.equal(gone.status, 404);
  });

  it('works in the file endpoint, beside the other tools and alone', async () => {
    const { json } = await c.probe({
      url: `${origin}/film.mp4`,
      c2pa: { enabled: true },
      mediainfo: { enabled: false },
      probe_report: { enabled: false },
    });
    assert.deepEqual(
      ['ffprobe', 'c2pa'].map((name) => (json[name] as Part).success),
      [true, true],
    );
    assert.equal((json['c2pa'] as Part).response.validation_state, 'Valid');
    const only = await c.probe({ url: `${origin}/film.mp4`, only: 'c2pa', inject_output: true });
    assert.equal((JSON.parse(only.text) as C2paReport).validation_state, 'Valid');
  });
});
