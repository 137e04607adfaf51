/** Each listed sample is made, and each file that is made for itself is listed. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { samplesFolder } from '../../images/samples_folder.ts';
import { DERIVED } from '../../images/samples/derived.ts';
import { ENCODED, PACKAGED } from '../../images/samples/recipe.ts';
import { readFrames } from '../../src/media/report/frames.ts';
import { FIRST_SAMPLE, SAMPLES } from '../../src/service/samples/list.ts';

const signed = readdirSync(fileURLToPath(new URL('../../images/samples/signed', import.meta.url)));
const made = [...Object.keys(ENCODED), ...Object.keys(DERIVED), ...signed.map((name) => `c2pa/${name}`)];
const listed = SAMPLES.map(({ path }) => path);
/** Segments of a playlist, and what others are made of. */
const NOT_LISTED = /^(?:hls-faults\/(?!main)|h264-plain\.mp4$)/;

describe('samples: recipe', () => {
  it('makes every listed sample', () => {
    const packaged = (path: string): boolean => Object.keys(PACKAGED).some((folder) => path.startsWith(`${folder}/`));
    assert.deepEqual(
      listed.filter((path) => !made.includes(path) && !packaged(path)),
      [],
    );
  });

  it('makes nothing that is not listed', () => {
    assert.deepEqual(
      made.filter((path) => !listed.includes(path) && !NOT_LISTED.test(path)),
      [],
    );
  });

  it('the ladder of HLS declares what its segments have, with the sound', () => {
    const list = (...segments: [number, string][]): string =>
      segments.map(([seconds, name]) => `#EXTINF:${seconds.toFixed(6)},\n${name}\n`).join('');
    const files: Record<string, string> = {
      'hls/main.m3u8':
        '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="group_sound",NAME="a",URI="sound/index.m3u8"\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=320x180,CODECS="avc1.4d400d,mp4a.40.2",AUDIO="group_sound"\n' +
        'low/index.m3u8\n\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="mp4a.40.2",AUDIO="group_sound"\nsound/index.m3u8\n',
      'hls/low/index.m3u8': list([2, '0.m4s'], [2, '1.m4s']),
      'hls/low/0.m4s': 'x'.repeat(50_000),
      'hls/low/1.m4s': 'x'.repeat(25_000),
      'hls/sound/index.m3u8': list([2, '0.m4s'], [2, '1.m4s'], [0.02, '2.m4s']),
      'hls/sound/0.m4s': 'x'.repeat(12_500),
      'hls/sound/1.m4s': 'x'.repeat(12_500),
      'hls/sound/2.m4s': 'x'.repeat(1_000),
    };
    assert.equal(
      DERIVED['hls/main.m3u8']!((path) => Buffer.from(files[path]!)).toString(),
      '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n' +
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="group_sound",NAME="a",URI="sound/index.m3u8",LANGUAGE="en"\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=252000,AVERAGE-BANDWIDTH=202000,RESOLUTION=320x180,' +
        'CODECS="avc1.4d400d,mp4a.40.2",AUDIO="group_sound",FRAME-RATE=25.000,CLOSED-CAPTIONS=NONE\n' +
        'low/index.m3u8\n\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=52000,AVERAGE-BANDWIDTH=52000,CODECS="mp4a.40.2",AUDIO="group_sound"\n' +
        'sound/index.m3u8\n',
    );
  });

  it('names are unique, and the first sample is one of them', () => {
    assert.equal(new Set(listed).size, listed.length);
    assert.ok(listed.includes(FIRST_SAMPLE));
  });
});

describe('samples: HDR10', () => {
  it('has the colours, mastering display and light levels that it is listed with', async function () {
    if (spawnSync('ffprobe', ['-version']).error) this.skip();
    this.timeout(120_000);
    const file = join(await samplesFolder(), 'hevc-hdr10.mp4');
    const args = ['-v', 'error', '-select_streams', 'v:0', '-show_frames', '-read_intervals', '%+#2', '-of', 'json'];
    const frames = JSON.parse(execFileSync('ffprobe', [...args, file], { encoding: 'utf8' })) as unknown;
    assert.deepEqual(readFrames(frames, 'hevc')?.fields, {
      'color.primaries': 'bt2020',
      'color.transfer': 'smpte2084',
      'color.matrix': 'bt2020nc',
      'hdr.mastering_display': true,
      'hdr.max_cll': 1000,
      'hdr.max_fall': 400,
    });
  });
});
