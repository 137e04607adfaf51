/** What breaks and what keeps the rules of src/media/hls/rules/reload.ts. */
import { live, window_ } from './playlists.ts';
import type { Examples } from './index.ts';

const reload = (...texts: string[]) => ({ 'media.m3u8': texts });
const GOOD = reload(window_(1), window_(2));
/** As of a clock in nanoseconds. */
const LATE = 1_700_000_000_000_000_001n;
const BREAK = ['#EXT-X-DISCONTINUITY'];

export const RELOAD_EXAMPLES: Examples = {
  'reload-unreadable': [undefined, GOOD],
  'reload-sequence-back': [reload(window_(5), window_(3)), GOOD],
  'reload-segment-changed': [reload(window_(1), window_(2).replace('3.ts', 'other.ts')), GOOD],
  'reload-duration-changed': [reload(window_(1), window_(2).replace('#EXTINF:6,\n3.ts', '#EXTINF:5,\n3.ts')), GOOD],
  'reload-removed': [reload(window_(1), window_(1, 3)), reload(window_(LATE), window_(LATE + 1n))],
  'reload-target': [reload(window_(1), window_(2).replace('DURATION:6', 'DURATION:7')), GOOD],
  'reload-type': [reload(live('#EXT-X-PLAYLIST-TYPE:EVENT'), live()), GOOD],
  'reload-event': [
    reload(live('#EXT-X-PLAYLIST-TYPE:EVENT'), window_(2, 5, ['#EXT-X-PLAYLIST-TYPE:EVENT'])),
    reload(window_(1, 5, ['#EXT-X-PLAYLIST-TYPE:EVENT']), window_(1, 6, ['#EXT-X-PLAYLIST-TYPE:EVENT'])),
  ],
  'reload-discontinuity': [
    reload(window_(1, 5, BREAK), window_(2, 5)),
    reload(window_(1, 5, BREAK), window_(2, 5, ['#EXT-X-DISCONTINUITY-SEQUENCE:1'])),
  ],
  'reload-version': [reload(window_(1), window_(2).replace('VERSION:9', 'VERSION:7')), GOOD],
  'reload-stale': [undefined, GOOD],
  'reload-jump': [reload(window_(1), window_(50)), reload(window_(LATE), window_(LATE + 5n))],
};
