/**
 * What outputs of Apple's mediastreamvalidator and hlsreport report that are public, by playlists of our own with the
 * same faults. docs/hls.md says what is not found, and why.
 */
import assert from 'node:assert/strict';
import { compareFormats, compareRates } from '../../src/media/hls/compare.ts';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import type { Variant } from '../../src/media/hls/playlist.ts';
import type { Example } from './examples/index.ts';
import { aMain, aVariant, lowLatency, vod, window_ } from './examples/playlists.ts';
import { Host } from './serve.ts';

const PART = '#EXT-X-PART:DURATION=0.5,URI="p.mp4"';
const LOW = lowLatency([PART], { control: 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.2,CAN-SKIP-UNTIL=36' });
const BARE = aMain(aVariant({ CODECS: null, RESOLUTION: null, 'FRAME-RATE': null, 'AVERAGE-BANDWIDTH': null }));
const NO_INDEPENDENT = (text: string): string => text.replace('#EXT-X-INDEPENDENT-SEGMENTS\n', '');
const SOUND = '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="a.m3u8"';

/** Where it was published, what it is about, the playlists, and the rule that finds it. */
const PUBLISHED: [string, string, Example, string][] = [
  ['hlsbook.net 2016', 'CODECS is missing', { 'main.m3u8': BARE }, 'codecs-missing'],
  [
    'hlsbook.net 2016',
    'independent segments are not declared',
    { 'main.m3u8': NO_INDEPENDENT(BARE) },
    'independent-missing',
  ],
  ['hlsbook.net 2016', 'AVERAGE-BANDWIDTH is missing', { 'main.m3u8': BARE }, 'average-missing'],
  [
    'hlsbook.net 2016',
    'FRAME-RATE is missing',
    { 'main.m3u8': aMain(aVariant({ 'FRAME-RATE': null })) },
    'frame-rate-missing',
  ],
  [
    'hlsbook.net 2016',
    'RESOLUTION is missing',
    { 'main.m3u8': aMain(aVariant({ RESOLUTION: null })) },
    'resolution-missing',
  ],
  [
    'hlsbook.net 2016',
    'session data in a media playlist',
    { 'media.m3u8': vod('#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1"') },
    'playlist-mixed',
  ],
  [
    'shaka-packager 2021',
    'LANGUAGE is missing',
    { 'main.m3u8': aMain(SOUND, aVariant({ AUDIO: '"a"' })) },
    'media-language-missing',
  ],
  [
    'shaka-packager 2021',
    'no captions',
    { 'main.m3u8': aMain(aVariant({ 'CLOSED-CAPTIONS': null })) },
    'captions-unsaid',
  ],
  ['shaka-packager 2021', 'no I-frame renditions', { 'main.m3u8': aMain() }, 'iframes-missing'],
  [
    'hls.js 7163',
    'a tag changes from one read to the next',
    { 'media.m3u8': [window_(1), window_(2).replace('DURATION:6', 'DURATION:7')] },
    'reload-target',
  ],
  ['-12642', 'more than twice the target duration', { 'media.m3u8': vod('#EXTINF:13,', 'a.ts') }, 'extinf-over-target'],
  ['-50102', 'PART-HOLD-BACK is short', { 'media.m3u8': LOW }, 'part-hold-back-short'],
  [
    '-50125',
    'no rendition reports',
    {
      'main.m3u8': aMain(aVariant({}, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000' }, 'b.m3u8')),
      'a.m3u8': LOW,
      'b.m3u8': LOW,
    },
    'reports-missing',
  ],
  [
    '-50085',
    'VIDEO-RANGE is missing',
    { 'main.m3u8': aMain(aVariant({ CODECS: '"dvh1.05.06,mp4a.40.2"' })) },
    'video-range-missing',
  ],
];

describe("HLS: what Apple's tool reports", () => {
  let host: Host;
  before(async () => {
    host = await new Host().start();
  });
  after(() => host.stop());

  for (const [source, what, example, code] of PUBLISHED)
    it(`${source}: ${what}: ${code}`, async () => {
      const watch = Object.values(example).some((text) => Array.isArray(text));
      const { messages } = await host.report(host.example(example), { watch, limits: { reloads: 1 } });
      const own = messages.find((message) => message.code === code);
      assert.ok(own !== undefined, messages.map((message) => message.code).join());
      if (source.startsWith('-50')) assert.equal(own.apple_code, Number(source));
    });

  const found = (judge: (variant: Variant, note: (rule: string) => void) => void): string[] => {
    const at = { url: 'http://h/main.m3u8', base: 'http://h/main.m3u8' };
    const [variant] = parsePlaylist(aMain(aVariant({})), at, () => {}).variants;
    const rules: string[] = [];
    judge(variant!, (rule) => rules.push(rule));
    return rules;
  };

  it('PeerTube 2625: a peak of 4,051 for 3,361 kbit/s: bandwidth-exceeded', () =>
    assert.deepEqual(
      // In the same proportion: the variant declares 2,000.
      found((variant, note) => compareRates(variant, { peak: 2_410_000, average: 1_500_000 }, true, note)),
      ['bandwidth-exceeded'],
    ));

  it('video.js 8028: a peak of 796 for 931 kbit/s is no finding: Apple alone reports what is a tenth below', () =>
    assert.deepEqual(
      found((variant, note) => compareRates(variant, { peak: 1_710_000, average: 1_500_000 }, true, note)),
      [],
    ));

  it('-50020: another size of the picture: resolution-measured', () => {
    const picture = { type: 'video', codec: 'h264', profile: 'High', level: 40, width: 640, height: 360 } as const;
    const stream = { ...picture, frameRate: 25, channels: 0, interlaced: false };
    const sound = { ...stream, type: 'audio', codec: 'aac', width: 0, height: 0, channels: 2 } as const;
    assert.deepEqual(
      found((variant, note) => compareFormats(variant, [stream, sound], [], note)),
      ['resolution-measured'],
    );
  });
});
