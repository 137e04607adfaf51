import assert from 'node:assert/strict';
import {
  compareChannels,
  compareFormats,
  compareSegments,
  ratesOf,
  type MeasuredSegment,
} from '../../src/media/hls/compare.ts';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import type { Playlist } from '../../src/media/hls/playlist.ts';
import type { Facts, Stream } from '../../src/media/hls/probe.ts';
import { aMain, aVariant, vod } from './examples/playlists.ts';
import { sampleOf } from '../../src/media/hls/measure.ts';

const read = (text: string): Playlist =>
  parsePlaylist(text, { url: 'http://h/a.m3u8', base: 'http://h/a.m3u8' }, () => {});
const VIDEO: Stream = {
  type: 'video',
  codec: 'h264',
  profile: 'High',
  level: 40,
  width: 1280,
  height: 720,
  frameRate: 25,
  channels: 0,
  interlaced: false,
};
const AUDIO: Stream = { ...VIDEO, type: 'audio', codec: 'aac', profile: 'LC', channels: 2 };
const facts = (changes: Partial<Facts> = {}): Facts => ({
  streams: [VIDEO, AUDIO],
  start: 10,
  end: 16,
  packets: 150,
  startsWithKey: true,
  keys: 3,
  ...changes,
});

function found(judge: (note: (rule: string) => void) => void): string[] {
  const rules: string[] = [];
  judge((rule) => rules.push(rule));
  return rules;
}

describe('measured segments compared with their playlist', () => {
  const two = read(vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'));
  const broken = read(vod('#EXTINF:6,', 'a.ts', '#EXT-X-DISCONTINUITY', '#EXTINF:6,', 'b.ts'));
  const frames = read(vod('#EXT-X-I-FRAMES-ONLY', '#EXTINF:6,', 'a.ts'));
  const of = (playlist: Playlist, ...list: Facts[]): MeasuredSegment[] =>
    list.map((one, index) => ({ segment: playlist.segments[index]!, bytes: 750_000, facts: one }));
  const next = facts({ start: 16, end: 22 });
  const table: [string, Playlist, Facts[], boolean, string[]][] = [
    ['good ones', two, [facts(), next], true, []],
    ['no key frame at the start', two, [facts({ startsWithKey: false })], true, ['keyframe-missing']],
    ['no key frame at the start, and none promised', two, [facts({ startsWithKey: false })], false, []],
    ['no key frame at all', two, [facts({ startsWithKey: false, keys: 0 })], false, ['keyframe-absent']],
    ['audio needs no key frame', two, [facts({ startsWithKey: false, keys: 0, streams: [AUDIO] })], true, []],
    ['a gap', two, [facts(), facts({ start: 17, end: 23 })], true, ['timestamps-break']],
    ['an overlap', two, [facts(), facts({ start: 15, end: 21 })], true, ['timestamps-break']],
    ['a gap at a discontinuity', broken, [facts(), facts({ start: 0, end: 6 })], true, []],
    [
      'the clock that starts again after 26 hours',
      two,
      [facts({ start: 95_437.71, end: 95_443.71 }), facts({ start: 0, end: 6 })],
      true,
      [],
    ],
    ['too long', two, [facts({ end: 18 })], true, ['duration-measured', 'duration-over-target']],
    ['too short', two, [facts({ end: 15 })], true, ['duration-measured']],
    ['an I-frame', frames, [facts({ end: 10.04 })], true, []],
    ['a frame that is no I-frame', frames, [facts({ startsWithKey: false, keys: 0 })], true, ['iframes-keyframe']],
  ];
  for (const [what, playlist, list, independent, expected] of table)
    it(`${what}: ${expected.join(', ') || 'no fault'}`, () =>
      assert.deepEqual(
        found((note) => compareSegments(of(playlist, ...list), playlist, independent, note)),
        expected,
      ));

  it('a short last segment is not a peak', () => {
    const three = read(vod('#EXTINF:6,', 'a.ts', '#EXTINF:1,', 'b.ts'));
    const rates = ratesOf(
      [
        { segment: three.segments[0]!, bytes: 750_000, facts: undefined },
        { segment: three.segments[1]!, bytes: 250_000, facts: undefined },
      ],
      three,
    );
    assert.deepEqual([rates.peak, rates.average, rates.all], [1_142_857, 1_142_857, true]);
  });

  it('samples neighbours from start to end, and all segments of a short playlist', () => {
    const long = read(vod(...Array.from({ length: 100 }, (_, n) => ['#EXTINF:6,', `${n}.ts`]).flat()));
    assert.deepEqual(
      sampleOf(long, 8).map(({ sequence }) => sequence),
      [0n, 1n, 33n, 34n, 65n, 66n, 98n, 99n],
    );
    assert.equal(sampleOf(two, 8).length, 2);
  });
});

describe('measured formats compared with their variant', () => {
  const variantOf = (changes: Record<string, string | null>) => read(aMain(aVariant(changes))).variants[0]!;
  const table: [string, Record<string, string | null>, Stream[], string[]][] = [
    ['as declared', {}, [VIDEO, AUDIO], []],
    ['a format that is not declared', { CODECS: '"avc1.640028"' }, [VIDEO, AUDIO], ['codecs-measured']],
    ['a declared format that is missing', {}, [VIDEO], ['codecs-measured']],
    ['HEVC declared, H.264 present', { CODECS: '"hvc1.2.4.L123.B0,mp4a.40.2"' }, [VIDEO, AUDIO], ['codecs-measured']],
    ['another profile', {}, [{ ...VIDEO, profile: 'Main' }, AUDIO], ['codecs-profile']],
    ['a higher level', {}, [{ ...VIDEO, level: 51 }, AUDIO], ['codecs-profile']],
    ['another size', {}, [{ ...VIDEO, width: 640, height: 360 }, AUDIO], ['resolution-measured']],
    ['another frame rate', {}, [{ ...VIDEO, frameRate: 50 }, AUDIO], ['frame-rate-measured']],
    ['29.97 is near 30', { 'FRAME-RATE': '30.000' }, [{ ...VIDEO, frameRate: 29.97 }, AUDIO], []],
    ['interlaced', {}, [{ ...VIDEO, interlaced: true }, AUDIO], ['interlaced']],
    ['an unknown format', {}, [VIDEO, AUDIO, { ...AUDIO, codec: 'unheard' }], []],
  ];
  for (const [what, changes, streams, expected] of table)
    it(`${what}: ${expected.join(', ') || 'no fault'}`, () =>
      assert.deepEqual(
        found((note) => compareFormats(variantOf(changes), streams, [], note)),
        expected,
      ));

  it('counts channels', () => {
    const rendition = read(aMain('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",CHANNELS="6",URI="a.m3u8"'))
      .renditions[0]!;
    assert.deepEqual(
      found((note) => compareChannels(rendition, [AUDIO], note)),
      ['channels-measured'],
    );
    assert.deepEqual(
      found((note) => compareChannels(rendition, [{ ...AUDIO, channels: 6 }], note)),
      [],
    );
  });
});
