/** What breaks and what keeps the rules of src/media/hls/rules/version.ts. */
import { vod, aMain, raw, aVariant } from './playlists.ts';
import type { Examples } from './index.ts';

export const VERSION_EXAMPLES: Examples = {
  'version-low': [
    raw('#EXTM3U', '#EXT-X-TARGETDURATION:6', '#EXTINF:5.5,', 'a.ts', '#EXT-X-ENDLIST'),
    vod('#EXTINF:5.5,', 'a.ts'),
  ],
  'version-unknown': [vod().replace('VERSION:9', 'VERSION:99'), vod()],
  'removed-attribute': [aMain(aVariant({ 'PROGRAM-ID': '1' })), aMain(aVariant({}))],
};
