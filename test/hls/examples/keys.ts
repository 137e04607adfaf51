/** What breaks and what keeps the rules of src/media/hls/rules/keys.ts. */
import { vod } from './playlists.ts';
import type { Examples } from './index.ts';

const KEY = '#EXT-X-KEY:METHOD=AES-128,URI="https://k/1"';

export const KEY_EXAMPLES: Examples = {
  'key-uri': [vod('#EXT-X-KEY:METHOD=AES-128'), vod(KEY)],
  'key-none': [vod('#EXT-X-KEY:METHOD=NONE,URI="https://k/1"'), vod('#EXT-X-KEY:METHOD=NONE')],
  'key-iv': [vod(`${KEY},IV=0x1234`), vod(`${KEY},IV=0x00000000000000000000000000000001`)],
  'key-formatversions': [vod(`${KEY},KEYFORMATVERSIONS="1,2"`), vod(`${KEY},KEYFORMATVERSIONS="1/2"`)],
  'key-format-aes128': [vod(`${KEY},KEYFORMAT="com.apple.streamingkeydelivery"`), vod(`${KEY},KEYFORMAT="identity"`)],
  'key-iv-reused': [
    vod(`${KEY},IV=0x00000000000000000000000000000001`, '#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'),
    vod(KEY, '#EXTINF:6,', 'a.ts', '#EXTINF:6,', 'b.ts'),
  ],
  'key-unused': [vod('#EXTINF:6,', 'a.ts', KEY), vod(KEY, '#EXTINF:6,', 'a.ts')],
  'key-clear': [vod('#EXT-X-KEY:METHOD=AES-128,URI="http://k/1"'), vod(KEY)],
};
