/** What breaks and what keeps the rules of src/media/hls/rules/across.ts. */
import { vod, live, window_, lowLatency, IFRAMES, aMain, aVariant } from './playlists.ts';
import type { Examples } from './index.ts';

const TWO = aMain(aVariant({}, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000' }, 'b.m3u8'));
const pair = (a: string, b: string) => ({ 'main.m3u8': TWO, 'a.m3u8': a, 'b.m3u8': b });
const same = (playlist: string) => pair(playlist, playlist);
const BROKEN = vod('#EXTINF:6,', 'a.ts', '#EXT-X-DISCONTINUITY', '#EXTINF:6,', 'b.ts');
const DATED = vod('#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z');
const FRAMES = vod('#EXT-X-I-FRAMES-ONLY', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts');
const part = '#EXT-X-PART:DURATION=0.5,URI="p.mp4"';

export const ACROSS_EXAMPLES: Examples = {
  'playlist-unreadable': [{ 'main.m3u8': aMain(aVariant({}, 'missing/404')) }, { 'main.m3u8': aMain() }],
  'playlist-nested': [{ 'main.m3u8': aMain(aVariant({}, 'main.m3u8')) }, { 'main.m3u8': aMain() }],
  'target-differs': [pair(vod(), vod().replace('DURATION:6', 'DURATION:7')), same(vod())],
  'type-differs': [pair(vod(), vod().replace('#EXT-X-PLAYLIST-TYPE:VOD\n', '')), same(vod())],
  'end-differs': [pair(vod(), window_(1)), same(window_(1))],
  'discontinuities-differ': [pair(BROKEN, vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts')), same(BROKEN)],
  'discontinuity-sequence-differs': [
    pair(
      live('#EXT-X-MEDIA-SEQUENCE:9', '#EXT-X-DISCONTINUITY-SEQUENCE:1'),
      live('#EXT-X-MEDIA-SEQUENCE:9', '#EXT-X-DISCONTINUITY-SEQUENCE:3'),
    ),
    same(live('#EXT-X-MEDIA-SEQUENCE:9', '#EXT-X-DISCONTINUITY-SEQUENCE:1')),
  ],
  'durations-differ': [pair(vod(), vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts')), same(vod())],
  'segments-differ': [
    pair(vod('#EXTINF:3,', 'a.ts', '#EXTINF:3,', 'b.ts'), vod('#EXTINF:2,', 'a.ts', '#EXTINF:4,', 'b.ts')),
    same(vod('#EXTINF:3,', 'a.ts', '#EXTINF:3,', 'b.ts')),
  ],
  'dates-some': [pair(DATED, vod()), same(DATED)],
  'dates-differ': [pair(DATED, vod('#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:05Z')), same(DATED)],
  'iframes-tag': [
    { 'main.m3u8': aMain(IFRAMES), 'iframes.m3u8': vod() },
    { 'main.m3u8': aMain(IFRAMES), 'iframes.m3u8': FRAMES },
  ],
  'iframes-variant': [
    { 'main.m3u8': aMain(), 'video.m3u8': FRAMES },
    { 'main.m3u8': aMain(), 'video.m3u8': vod() },
  ],
  'gap-everywhere': [
    same(vod('#EXT-X-GAP', '#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts')),
    pair(
      vod('#EXT-X-GAP', '#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'),
      vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'),
    ),
  ],
  'hevc-transport': [
    { 'main.m3u8': aMain(aVariant({ CODECS: '"hvc1.2.4.L123.B0,mp4a.40.2"' })) },
    {
      'main.m3u8': aMain(aVariant({ CODECS: '"hvc1.2.4.L123.B0,mp4a.40.2"' })),
      'video.m3u8': vod('#EXT-X-MAP:URI="i.mp4"', '#EXTINF:6,', 'a.m4s'),
    },
  ],
  'session-key-stray': [
    {
      'main.m3u8': aMain('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/2"'),
      'video.m3u8': vod('#EXT-X-KEY:METHOD=AES-128,URI="https://k/1"'),
    },
    {
      'main.m3u8': aMain('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/1"'),
      'video.m3u8': vod('#EXT-X-KEY:METHOD=AES-128,URI="https://k/1"'),
    },
  ],
  'reports-missing': [
    same(lowLatency([part])),
    pair(
      lowLatency([part, '#EXT-X-RENDITION-REPORT:URI="b.m3u8",LAST-MSN=14,LAST-PART=0']),
      lowLatency([part, '#EXT-X-RENDITION-REPORT:URI="a.m3u8",LAST-MSN=14,LAST-PART=0']),
    ),
  ],
};
