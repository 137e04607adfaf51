/** Every sample, by the address at which the chart serves it. */
import assert from 'node:assert/strict';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import { FIRST_SAMPLE, SAMPLES, type Sample } from '../../src/service/samples/list.ts';
import type { C2paReport } from '../../src/media/tools/c2pa_schema.ts';
import { cluster, type Cluster } from './fixture.ts';

const ORIGIN = 'http://probeyard-samples.probeyard.svc';

/** Of playlists: all others have this fault. */
const VALID = new Set(['hls/main.m3u8']);
const FAULT = 'extinf-over-target';
const STATES: Readonly<Record<string, string | null>> = {
  'c2pa/signed.jpg': 'Valid',
  'c2pa/tampered.jpg': 'Invalid',
  'c2pa/signed.mp4': 'Valid',
  'c2pa/unsigned.jpg': null,
};

interface Streams {
  streams?: { codec_name?: string }[];
}

describe('samples on the cluster', function () {
  this.timeout(60_000);
  let c: Cluster;
  let token: string;
  before(async () => {
    c = await cluster();
    ({ token } = await c.newToken());
  });
  after(() => c.close());

  const of = (endpoint: Sample['endpoint']) => SAMPLES.filter((sample) => sample.endpoint === endpoint);
  const ask = (path: string, endpoint: Sample['endpoint'] = 'file') =>
    c.probe({ url: `${ORIGIN}/${path}` }, { token, path: `/v1/probe/${endpoint}` });

  for (const { path, codecs } of of('file'))
    it(`${path}: ${codecs === undefined ? 'ffprobe refuses it' : codecs.join(', ')}`, async () => {
      const { json, text } = await ask(path);
      const ffprobe = json['ffprobe'] as { success: boolean; response?: Streams };
      assert.equal(ffprobe?.success, codecs !== undefined, text.slice(0, 2_000));
      if (codecs === undefined) return;
      // A track of time codes has no codec.
      const found = ffprobe.response?.streams?.flatMap(({ codec_name: name }) => name ?? []) ?? [];
      assert.deepEqual(found.toSorted(), [...codecs].toSorted());
    });

  for (const { path } of of('mediastreamvalidator'))
    it(`${path}: ${VALID.has(path) ? 'nothing must be fixed' : FAULT}`, async () => {
      // The good one with its segments: what it declares is what they have.
      const body = { url: `${ORIGIN}/${path}`, parse_playlist_only: !VALID.has(path) };
      const { json, text } = await c.probe(body, { token, path: '/v1/probe/mediastreamvalidator' });
      const report = json as unknown as HlsReport;
      const faults = report.messages.filter(({ level }) => level === 'must-fix').map(({ code }) => code);
      assert.deepEqual([report.success, faults], VALID.has(path) ? [true, []] : [false, [FAULT]], text.slice(0, 2_000));
    });

  for (const { path } of of('c2pa'))
    it(`${path}: ${STATES[path]}`, async () => {
      const { text } = await ask(path, 'c2pa');
      assert.equal((JSON.parse(text) as C2paReport).validation_state, STATES[path], text.slice(0, 2_000));
    });

  it('are found nowhere else: another port and another service of the same namespace are refused', async () => {
    for (const url of [`${ORIGIN}:8080/${FIRST_SAMPLE}`, 'http://probeyard-api.probeyard.svc.cluster.local/healthz']) {
      const { status, json } = await c.probe({ url }, { token });
      assert.equal(status, 400);
      assert.match(String(json.error), /is not allowed/);
    }
  });
});
