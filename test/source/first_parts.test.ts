import assert from 'node:assert/strict';
import { firstParts, type Part } from '../../src/source/playlist/parts_ahead.ts';
import { assertLinear, filled } from './work.ts';

const BASE = 'https://h.example/a/list';
/** Playlists with a `/`, media with a `*`. */
const shown = (parts: Part[]): string[] =>
  parts.map(
    ({ url, isPlaylist, isMedia }) =>
      `${url.replace('https://h.example/', '')}${isPlaylist ? '/' : ''}${isMedia ? '*' : ''}`,
  );
const segments = (count: number): string =>
  Array.from({ length: count }, (_value, i) => `#EXTINF:6,\n${i}.ts\n`).join('');

describe('first parts of a playlist', () => {
  const hls: [string, string, string[]][] = [
    ['an ended list: its first segment', `#EXTM3U\n${segments(9)}#EXT-X-ENDLIST\n`, ['a/0.ts']],
    ['a list that goes on: the third from its end', `#EXTM3U\n${segments(9)}`, ['a/6.ts']],
    ['a short list that goes on', `#EXTM3U\n${segments(2)}`, ['a/0.ts']],
    [
      'the initialization before the segment',
      `#EXTM3U\n#EXT-X-MAP:URI="i.mp4",BYTERANGE="9@0"\n${segments(1)}#EXT-X-ENDLIST`,
      ['a/i.mp4', 'a/0.ts'],
    ],
    [
      'a key',
      `#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="https://k.example/k"\n${segments(1)}#EXT-X-ENDLIST`,
      ['https://k.example/k', 'a/0.ts'],
    ],
    [
      'a key of another scheme: the segment alone',
      `#EXTM3U\n#EXT-X-KEY:URI="skd://k"\n${segments(1)}#EXT-X-ENDLIST`,
      ['a/0.ts'],
    ],
    [
      'streams and renditions, each once',
      '#EXTM3U\r\n#EXT-X-MEDIA:TYPE=AUDIO,URI="s.m3u8"\r\n#EXT-X-STREAM-INF:BANDWIDTH=1\r\nv.m3u8?a=1\r\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=2\r\n/w.m3u8\r\n#EXT-X-STREAM-INF:BANDWIDTH=3\r\nv.m3u8?a=1\r\n',
      ['a/v.m3u8?a=1/', 'w.m3u8/', 'a/s.m3u8/'],
    ],
    ['nothing of a scheme that is not http', '#EXTM3U\nfile:///etc/passwd\n#EXT-X-ENDLIST', []],
    ['nothing of an empty list', '#EXTM3U\n', []],
  ];
  for (const [title, text, expected] of hls)
    it(`HLS: ${title}`, () => assert.deepEqual(shown(firstParts('hls', text, BASE)), expected));

  const set = (inner: string, more = ''): string =>
    `<MPD${more}><Period><AdaptationSet>${inner}</AdaptationSet></Period></MPD>`;
  const template = '<SegmentTemplate initialization="i-$RepresentationID$" media="$RepresentationID$/$Number%05d$.m4s"';
  const dash: [string, string, string[]][] = [
    [
      'each representation of a shared template',
      set(`${template}/><Representation id="v"/><Representation id="w"></Representation>`),
      ['a/i-v', 'a/v/00001.m4s*', 'a/i-w', 'a/w/00001.m4s*'],
    ],
    [
      'a template of its own, and a number',
      set(`<Representation id="v">${template} startNumber="7"/></Representation>`),
      ['a/i-v', 'a/v/00007.m4s*'],
    ],
    [
      'the first time of a timeline',
      set(
        '<Representation id="v" bandwidth="5"><SegmentTemplate media="$Bandwidth$-$Time$$$"><SegmentTimeline>' +
          '<S t="90" d="1"/><S t="91" d="1"/></SegmentTimeline></SegmentTemplate></Representation>',
      ),
      ['a/5-90$*'],
    ],
    [
      'base addresses, of which the first counts',
      '<MPD><BaseURL>https://h.example/b/</BaseURL><BaseURL>https://g.example/</BaseURL><Period><AdaptationSet>' +
        `<Representation id="v"><BaseURL>c/</BaseURL>${template}/></Representation></AdaptationSet></Period></MPD>`,
      ['b/c/i-v', 'b/c/v/00001.m4s*'],
    ],
    [
      'a list of segments',
      set(
        '<Representation id="v"><SegmentList><Initialization sourceURL="i&amp;1"/><SegmentURL media="0"/>' +
          '<SegmentURL media="1"/></SegmentList></Representation>',
      ),
      ['a/i&1', 'a/0*'],
    ],
    [
      'the initialization alone of a live manifest',
      set(`<Representation id="v">${template}/></Representation>`, ' type="dynamic"'),
      ['a/i-v'],
    ],
    [
      'the first period',
      `${set(`<Representation id="v">${template}/></Representation>`).replace('</MPD>', '')}<Period>` +
        `<Representation id="x">${template}/></Representation></Period></MPD>`,
      ['a/i-v', 'a/v/00001.m4s*'],
    ],
    ['nothing of a broken text', '<MPD><Period><SegmentURL media="x"/><S t="1"/><Representation', []],
  ];
  for (const [title, text, expected] of dash)
    it(`DASH: ${title}`, () => assert.deepEqual(shown(firstParts('dash', text, BASE)), expected));

  it('takes time in proportion to a hostile text', function () {
    this.timeout(60_000);
    for (const unit of ['#EXT-X-MEDIA:', '#EXT-X-STREAM-INF:\n', '#EXT-X-KEY:URI="', '\n \n', 'a\n'])
      assertLinear(unit, 500_000, (size) => () => firstParts('hls', filled(unit, size), BASE));
    for (const unit of ['<a>', '<S t="1"/>', '<SegmentTemplate media="$Number%99d$"/><Representation/>', '<BaseURL>'])
      assertLinear(unit, 500_000, (size) => () => firstParts('dash', filled(unit, size), BASE));
  });
});
