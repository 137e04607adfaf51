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

interface Stream extends Record<string, unknown> {
  codec_name?: string;
  codec_type?: string;
  tags?: Record<string, string>;
}
interface Streams {
  streams?: Stream[];
  format?: { format_name?: string; tags?: Record<string, string> };
  chapters?: unknown[];
}
interface Tracks {
  media?: { track?: Record<string, string>[] };
}

const ofType = ({ streams = [] }: Streams, type: string): Stream[] =>
  streams.filter(({ codec_type: own }) => own === type);
const video = (said: Streams): Stream => ofType(said, 'video')[0] ?? {};
const timecode = ({ streams = [], format }: Streams): boolean =>
  [format?.tags, ...streams.map(({ tags }) => tags)].some((tags) => tags?.['timecode'] === '01:00:00:00');
const rotation = (said: Streams): number | undefined =>
  (video(said)['side_data_list'] as { rotation?: number }[] | undefined)?.find(({ rotation: by }) => by !== undefined)
    ?.rotation;
const streamable = (_: Streams, { media }: Tracks): string | undefined => media?.track?.[0]?.['IsStreamable'];

/** What a sample is listed for, beside its codecs: as the tools say it. */
const SHOWN: Readonly<Record<string, [said: (ffprobe: Streams, mediainfo: Tracks) => unknown, expected: unknown]>> = {
  'h264-aac.mp4': [streamable, 'Yes'],
  'h264-aac-index-last.mp4': [streamable, 'No'],
  'h264-rotated.mp4': [(said) => Math.abs(rotation(said) ?? 0), 90],
  'h264-anamorphic.mp4': [(said) => video(said)['sample_aspect_ratio'], '16:11'],
  'h264-variable-rate.mp4': [(said) => video(said)['avg_frame_rate'] === video(said)['r_frame_rate'], false],
  'h264-surround.mp4': [(said) => ofType(said, 'audio')[0]?.['channels'], 6],
  'hevc-hdr10.mp4': [
    (said) => [video(said)['color_transfer'], video(said)['color_primaries'], video(said)['pix_fmt']],
    ['smpte2084', 'bt2020', 'yuv420p10le'],
  ],
  'prores-pcm.mov': [(said) => [video(said)['profile'], timecode(said)], ['HQ', true]],
  'h264-two-languages.mkv': [
    (said) => [ofType(said, 'audio').map(({ tags }) => tags?.['language']), said.chapters?.length],
    [['eng', 'fra'], 2],
  ],
  'mpeg2-interlaced.ts': [(said) => video(said)['field_order'] === 'progressive', false],
  'mpeg2-pcm.mxf': [timecode, true],
  'pcm.wav': [(said) => said.streams?.[0]?.['bits_per_sample'], 24],
  'mp3-cover.mp3': [(said) => (video(said)['disposition'] as Record<string, number>)['attached_pic'], 1],
  'ac3.ac3': [(said) => said.streams?.[0]?.['channels'], 6],
  'broken/renamed.mkv': [(said) => said.format?.format_name, 'mov,mp4,m4a,3gp,3g2,mj2'],
};

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
      const [shown, expected] = SHOWN[path] ?? [];
      const { response: tracks = {} } = json['mediainfo'] as { response?: Tracks };
      assert.deepEqual(shown?.(ffprobe.response ?? {}, tracks), expected);
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
