/** What breaks and what keeps the rules of src/media/hls/rules/daterange.ts. */
import { vod } from './playlists.ts';
import type { Examples } from './index.ts';

const PDT = '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z';
const range = (attributes: string): string =>
  vod(PDT, `#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"${attributes}`);
const interstitial = (attributes: string): string => range(`,CLASS="com.apple.hls.interstitial"${attributes}`);
const ASSET = ',X-ASSET-URI="ad.m3u8"';

export const DATERANGE_EXAMPLES: Examples = {
  'daterange-start': [vod(PDT, '#EXT-X-DATERANGE:ID="1",DURATION=3'), range(',DURATION=3')],
  'daterange-dates': [vod('#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"'), range('')],
  'daterange-end': [range(',END-DATE="2025-12-31T00:00:00Z"'), range(',END-DATE="2026-01-01T00:00:03Z"')],
  'daterange-duration': [
    range(',DURATION=5,END-DATE="2026-01-01T00:00:03Z"'),
    range(',DURATION=3,END-DATE="2026-01-01T00:00:03Z"'),
  ],
  'daterange-next-class': [range(',END-ON-NEXT=YES'), range(',CLASS="a",END-ON-NEXT=YES')],
  'daterange-next-end': [range(',CLASS="a",END-ON-NEXT=YES,DURATION=3'), range(',CLASS="a",END-ON-NEXT=YES')],
  'daterange-changed': [
    vod(
      PDT,
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z",X-A="1"',
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z",X-A="2"',
    ),
    vod(
      PDT,
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"',
      '#EXT-X-DATERANGE:ID="1",DURATION=3,START-DATE="2026-01-01T00:00:00Z"',
    ),
  ],
  'daterange-cue': [range(',CUE="PRE,POST"'), range(',CUE="PRE,ONCE"')],
  'interstitial-asset': [interstitial(''), interstitial(ASSET)],
  'interstitial-limit': [interstitial(`${ASSET},X-PLAYOUT-LIMIT=0`), interstitial(`${ASSET},X-PLAYOUT-LIMIT=15.5`)],
  'interstitial-class': [range(',CLASS="ads",X-ASSET-URI="ad.m3u8"'), interstitial(ASSET)],
};
