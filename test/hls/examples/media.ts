/** What breaks and what keeps the rules of src/media/hls/rules/media.ts. */
import { vod, live, window_, raw } from './playlists.ts';
import type { Examples } from './index.ts';

const KEY = '#EXT-X-KEY:METHOD=AES-128,URI="https://k/1"';
const TWO = (...between: string[]): string => vod('#EXTINF:6,', 'a.ts', ...between, '#EXTINF:6,', 'b.ts');

export const MEDIA_EXAMPLES: Examples = {
  'targetduration-missing': [raw('#EXTM3U', '#EXTINF:6,', 'a.ts', '#EXT-X-ENDLIST'), vod()],
  'targetduration-zero': [vod('#EXTINF:0,', 'a.ts').replace('DURATION:6', 'DURATION:0'), vod()],
  'extinf-missing': [TWO('c.ts'), TWO()],
  'extinf-over-target': [vod('#EXTINF:6.5,', 'a.ts'), vod('#EXTINF:6.49,', 'a.ts')],
  'extinf-zero': [vod('#EXTINF:0,', 'a.ts'), vod('#EXTINF:0.04,', 'a.ts')],
  'targetduration-loose': [
    vod('#EXTINF:2,', 'a.ts', '#EXTINF:2,', 'b.ts', '#EXTINF:2,', 'c.ts'),
    vod('#EXTINF:6,', 'a.ts', '#EXTINF:2,', 'b.ts', '#EXTINF:2,', 'c.ts'),
  ],
  'targetduration-apple': [vod('#EXTINF:10,', 'a.ts').replace('DURATION:6', 'DURATION:10'), vod()],
  'segments-none': [raw('#EXTM3U', '#EXT-X-TARGETDURATION:6', '#EXT-X-ENDLIST'), vod()],
  'vod-endlist': [vod().replace('#EXT-X-ENDLIST\n', ''), vod()],
  'endlist-early': [
    vod('#EXTINF:6,', 'a.ts')
      .replace('#EXTINF:6,', '#EXT-X-ENDLIST\n#EXTINF:6,')
      .replace(/#EXT-X-ENDLIST\n$/, ''),
    vod(),
  ],
  'allow-cache': [vod('#EXT-X-ALLOW-CACHE:YES'), vod()],
  'start-outside': [vod('#EXT-X-START:TIME-OFFSET=100'), vod('#EXT-X-START:TIME-OFFSET=2')],
  'start-live-edge': [live('#EXT-X-START:TIME-OFFSET=-6'), live('#EXT-X-START:TIME-OFFSET=-20')],
  'live-short': [window_(1, 2), window_(1, 3)],
  'live-sequence': [live(), window_(1)],
  'discontinuity-sequence': [
    window_(7, 4, ['#EXT-X-DISCONTINUITY']),
    window_(7, 4, ['#EXT-X-DISCONTINUITY-SEQUENCE:1', '#EXT-X-DISCONTINUITY']),
  ],
  'segment-repeated': [TWO('#EXTINF:6,', 'a.ts'), TWO()],
  'byterange-empty': [
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:0@0', 'a.ts'),
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:1@0', 'a.ts'),
  ],
  'byterange-overlap': [
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000@500', 'a.ts'),
    vod('#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000@1000', 'a.ts'),
  ],
  'map-missing': [vod('#EXTINF:6,', 'a.m4s'), vod('#EXT-X-MAP:URI="init.mp4"', '#EXTINF:6,', 'a.m4s')],
  'map-iv': [
    vod(KEY, '#EXT-X-MAP:URI="init.mp4"', '#EXTINF:6,', 'a.m4s'),
    vod(`${KEY},IV=0x00000000000000000000000000000001`, '#EXT-X-MAP:URI="init.mp4"', '#EXTINF:6,', 'a.m4s'),
  ],
  'map-unused': [
    vod('#EXT-X-MAP:URI="init.mp4"', '#EXTINF:6,', 'a.m4s', '#EXT-X-MAP:URI="other.mp4"'),
    vod('#EXT-X-MAP:URI="init.mp4"', '#EXTINF:6,', 'a.m4s'),
  ],
  'date-backwards': [
    vod(
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:10Z',
      '#EXTINF:6,',
      'a.ts',
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z',
      '#EXTINF:6,',
      'b.ts',
    ),
    vod(
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z',
      '#EXTINF:6,',
      'a.ts',
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:06Z',
      '#EXTINF:6,',
      'b.ts',
    ),
  ],
  'date-drift': [
    vod(
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z',
      '#EXTINF:6,',
      'a.ts',
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:09Z',
      '#EXTINF:6,',
      'b.ts',
    ),
    vod(
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z',
      '#EXTINF:6,',
      'a.ts',
      '#EXT-X-DISCONTINUITY',
      '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:09Z',
      '#EXTINF:6,',
      'b.ts',
    ),
  ],
  'bitrate-zero': [vod('#EXT-X-BITRATE:0', '#EXTINF:6,', 'a.ts'), vod('#EXT-X-BITRATE:800', '#EXTINF:6,', 'a.ts')],
  'gap-present': [vod('#EXT-X-GAP', '#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'), TWO()],
  'gap-all': [vod('#EXT-X-GAP', '#EXTINF:6,', 'a.ts'), TWO()],
  'iframes-range': [
    vod('#EXT-X-I-FRAMES-ONLY', '#EXTINF:6,', 'a.ts'),
    vod('#EXT-X-I-FRAMES-ONLY', '#EXTINF:6,', '#EXT-X-BYTERANGE:1000@0', 'a.ts'),
  ],
  'uri-invalid': [vod('#EXTINF:6,', 'http://'), vod('#EXTINF:6,', 'http://a.example/b.ts')],
  'uri-scheme': [vod('#EXTINF:6,', 'file:///etc/passwd'), vod('#EXTINF:6,', 'https://a.example/a.ts')],
  'uri-space': [vod('#EXTINF:6,', 'a b.ts'), vod('#EXTINF:6,', 'a%20b.ts')],
};
