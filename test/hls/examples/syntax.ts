/** What breaks and what keeps the rules of src/media/hls/rules/syntax.ts. */
import { vod, live, aMain, raw, aVariant } from './playlists.ts';
import type { Examples } from './index.ts';

export const SYNTAX_EXAMPLES: Examples = {
  'not-a-playlist': [raw('#EXTINF:6,', 'a.ts'), vod()],
  'encoding-bom': [`\ufeff${vod()}`, vod()],
  'encoding-control': [vod('#EXTINF:6,a\u0007b', 'a.ts'), vod('#EXTINF:6,ab', 'a.ts')],
  'encoding-tab': [vod('#EXTINF:6,\ta', 'a.ts'), vod('#EXTINF:6,a', 'a.ts')],
  'encoding-nfc': [vod('#EXTINF:6,cafe\u0301', 'a.ts'), vod('#EXTINF:6,caf\u00e9', 'a.ts')],
  'playlist-empty': [raw('#EXTM3U'), vod()],
  'line-whitespace': [vod('#EXTINF:6,', ' a.ts'), vod('#EXTINF:6,', 'a.ts')],
  'line-ending': [
    '#EXTM3U\n#EXT-X-TARGETDURATION:6\r#EXT-X-VERSION:3\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\n',
    '#EXTM3U\r\n#EXT-X-TARGETDURATION:6\r\n#EXT-X-VERSION:3\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\r\n',
  ],
  'tag-spelling': [
    vod('#ext-x-gap', '#EXT-X-DISCONTINUTY', '#EXTINF:6,', 'a.ts'),
    vod('#EXT-X-GAP', '#EXTINF:6,', 'a.ts'),
  ],
  'tag-unknown': [vod('#EXT-X-CUE-OUT:30'), vod('# a comment')],
  'tag-value': [vod('#EXT-X-MEDIA-SEQUENCE:-1'), vod('#EXT-X-MEDIA-SEQUENCE:18446744073709551615')],
  'tag-duplicate': [vod('#EXT-X-TARGETDURATION:6'), vod()],
  'tag-late': [
    vod('#EXTINF:6,', 'a.ts', '#EXT-X-MEDIA-SEQUENCE:1'),
    vod('#EXT-X-MEDIA-SEQUENCE:1', '#EXTINF:6,', 'a.ts'),
  ],
  'segment-tag-alone': [vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,'), vod('#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts')],
  'playlist-mixed': [aMain('#EXT-X-TARGETDURATION:6'), aMain()],
  'attribute-syntax': [aMain(aVariant({ 'FRAME-RATE': '25.000,' })), aMain(aVariant({}))],
  'attribute-duplicate': [aMain(aVariant({ BANDWIDTH: '2000000,BANDWIDTH=3000000' })), aMain(aVariant({}))],
  'attribute-missing': [aMain(aVariant({ BANDWIDTH: null })), aMain(aVariant({}))],
  'attribute-type': [aMain(aVariant({ CODECS: 'avc1.640028' })), aMain(aVariant({ CODECS: '"avc1.640028"' }))],
  'attribute-value': [aMain(aVariant({ 'HDCP-LEVEL': 'TYPE-7' })), aMain(aVariant({ 'HDCP-LEVEL': 'TYPE-1' }))],
  'attribute-unknown': [aMain(aVariant({ COLOUR: 'RED' })), aMain(aVariant({ 'X-COLOUR': '"RED"' }))],
  'variable-undefined': [
    vod('#EXTINF:6,', '{$path}a.ts'),
    vod('#EXT-X-DEFINE:NAME="path",VALUE="v/"', '#EXTINF:6,', '{$path}a.ts'),
  ],
  'define-form': [vod('#EXT-X-DEFINE:NAME="a"'), vod('#EXT-X-DEFINE:NAME="a",VALUE="1"')],
  'define-name': [vod('#EXT-X-DEFINE:NAME="a b",VALUE="1"'), vod('#EXT-X-DEFINE:NAME="a_b",VALUE="1"')],
  'define-duplicate': [
    vod('#EXT-X-DEFINE:NAME="a",VALUE="1"', '#EXT-X-DEFINE:NAME="a",VALUE="2"'),
    vod('#EXT-X-DEFINE:NAME="a",VALUE="1"', '#EXT-X-DEFINE:NAME="b",VALUE="2"'),
  ],
  'define-import': [
    { 'main.m3u8': aMain(), 'video.m3u8': vod('#EXT-X-DEFINE:IMPORT="cdn"') },
    { 'main.m3u8': aMain('#EXT-X-DEFINE:NAME="cdn",VALUE="1"'), 'video.m3u8': vod('#EXT-X-DEFINE:IMPORT="cdn"') },
  ],
  'define-import-multivariant': [aMain('#EXT-X-DEFINE:IMPORT="cdn"'), aMain('#EXT-X-DEFINE:NAME="cdn",VALUE="1"')],
  'define-parameter': [
    { 'media.m3u8': vod('#EXT-X-VERSION:11', '#EXT-X-DEFINE:QUERYPARAM="token"') },
    { 'media.m3u8?token=1': vod('#EXT-X-DEFINE:QUERYPARAM="token"').replace('VERSION:9', 'VERSION:11') },
  ],
  'byterange-offset': [
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:1000', 'a.ts'),
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000', 'a.ts'),
  ],
  'extinf-comma': [vod('#EXTINF:6', 'a.ts'), vod('#EXTINF:6,', 'a.ts')],
  'extinf-duration': [vod('#EXTINF:six,', 'a.ts'), vod('#EXTINF:6,', 'a.ts')],
  'extinf-double': [vod('#EXTINF:5,', '#EXTINF:6,', 'a.ts'), vod('#EXTINF:6,', 'a.ts')],
  'stream-inf-uri': [aMain(aVariant({}, '#'), aVariant({})), aMain(aVariant({}))],
  'date-form': [vod('#EXT-X-PROGRAM-DATE-TIME:today'), vod('#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z')],
  'date-zone': [
    vod('#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00'),
    vod('#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00+01:00'),
  ],
  'discontinuity-double': [
    vod('#EXTINF:6,', 'a.ts', '#EXT-X-DISCONTINUITY', '#EXT-X-DISCONTINUITY', '#EXTINF:6,', 'b.ts'),
    vod('#EXTINF:6,', 'a.ts', '#EXT-X-DISCONTINUITY', '#EXTINF:6,', 'b.ts'),
  ],
  'analysis-cut': [undefined, live()],
};
