/** What breaks and what keeps the rules of src/media/hls/rules/multivariant.ts. */
import { IFRAMES, aMain, raw, aVariant } from './playlists.ts';
import type { Examples } from './index.ts';

const STEERED = '#EXT-X-CONTENT-STEERING:SERVER-URI="steer.json",PATHWAY-ID="A"';

export const MULTIVARIANT_EXAMPLES: Examples = {
  'variants-none': [raw('#EXTM3U', '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",URI="en.m3u8"'), aMain()],
  'bandwidth-zero': [aMain(aVariant({ BANDWIDTH: '0', 'AVERAGE-BANDWIDTH': null })), aMain()],
  'bandwidth-average': [aMain(aVariant({ 'AVERAGE-BANDWIDTH': '2000001' })), aMain()],
  'average-missing': [aMain(aVariant({ 'AVERAGE-BANDWIDTH': null })), aMain()],
  'codecs-missing': [aMain(aVariant({ CODECS: null })), aMain()],
  'codecs-form': [aMain(aVariant({ CODECS: '"avc1.64,mp4a.40.2"' })), aMain()],
  'codecs-old': [aMain(aVariant({ CODECS: '"avc1.77.30"' })), aMain()],
  'resolution-missing': [aMain(aVariant({ RESOLUTION: null })), aMain()],
  'frame-rate-missing': [aMain(aVariant({ 'FRAME-RATE': null })), aMain()],
  'frame-rate-high': [aMain(aVariant({ 'FRAME-RATE': '120.000' })), aMain()],
  'frame-rate-zero': [aMain(aVariant({ 'FRAME-RATE': '0' })), aMain()],
  'independent-missing': [aMain().replace('#EXT-X-INDEPENDENT-SEGMENTS\n', ''), aMain()],
  'video-range-missing': [
    aMain(aVariant({ CODECS: '"dvh1.05.06,mp4a.40.2"' })),
    aMain(aVariant({ CODECS: '"dvh1.05.06,mp4a.40.2"', 'VIDEO-RANGE': 'PQ' })),
  ],
  'video-range-codec': [aMain(aVariant({ 'VIDEO-RANGE': 'PQ' })), aMain(aVariant({ 'VIDEO-RANGE': 'SDR' }))],
  'supplemental-form': [
    aMain(aVariant({ 'SUPPLEMENTAL-CODECS': '"dvh1.08.07"' })),
    aMain(aVariant({ 'SUPPLEMENTAL-CODECS': '"dvh1.08.07/db4h"' })),
  ],
  'video-layout-form': [
    aMain(aVariant({ 'REQ-VIDEO-LAYOUT': '"3D"' })).replace('VERSION:9', 'VERSION:12'),
    aMain(aVariant({ 'REQ-VIDEO-LAYOUT': '"CH-STEREO"' })).replace('VERSION:9', 'VERSION:12'),
  ],
  'cpc-form': [
    aMain(aVariant({ 'ALLOWED-CPC': '"SMART-TV"' })),
    aMain(aVariant({ 'ALLOWED-CPC': '"com.example.drm:SMART-TV/PC"' })),
  ],
  'score-some': [
    aMain(aVariant({ SCORE: '1.0' }, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000' }, 'b.m3u8')),
    aMain(aVariant({ SCORE: '1.0' }, 'a.m3u8'), aVariant({ BANDWIDTH: '3000000', SCORE: '2.0' }, 'b.m3u8')),
  ],
  'variant-repeated': [aMain(aVariant({}), aVariant({})), aMain(aVariant({}), aVariant({}, 'other/video.m3u8'))],
  'variant-attributes': [
    aMain(aVariant({}), aVariant({ RESOLUTION: '640x360' })),
    aMain(aVariant({}), aVariant({ RESOLUTION: '640x360' }, 'other.m3u8')),
  ],
  'variant-first': [
    aMain(
      ...[4, 1, 2, 3].map((n) => aVariant({ BANDWIDTH: `${n}000000`, 'AVERAGE-BANDWIDTH': `${n}000000` }, `${n}.m3u8`)),
    ),
    aMain(
      ...[2, 1, 3, 4].map((n) => aVariant({ BANDWIDTH: `${n}000000`, 'AVERAGE-BANDWIDTH': `${n}000000` }, `${n}.m3u8`)),
    ),
  ],
  'ladder-gap': [
    aMain(
      aVariant({ BANDWIDTH: '1000000', 'AVERAGE-BANDWIDTH': '1000000' }, '1.m3u8'),
      aVariant({ BANDWIDTH: '4000000', 'AVERAGE-BANDWIDTH': '4000000' }, '4.m3u8'),
    ),
    aMain(
      aVariant({ BANDWIDTH: '1000000', 'AVERAGE-BANDWIDTH': '1000000' }, '1.m3u8'),
      aVariant({ BANDWIDTH: '2000000' }, '2.m3u8'),
    ),
  ],
  'iframes-missing': [aMain(), aMain(IFRAMES)],
  'iframes-attribute': [aMain(`${IFRAMES},FRAME-RATE=25`), aMain(IFRAMES)],
  'session-data-value': [aMain('#EXT-X-SESSION-DATA:DATA-ID="a"'), aMain('#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1"')],
  'session-data-repeated': [
    aMain('#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1"', '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="2"'),
    aMain(
      '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="1",LANGUAGE="en"',
      '#EXT-X-SESSION-DATA:DATA-ID="a",VALUE="2",LANGUAGE="fr"',
    ),
  ],
  'session-key-repeated': [
    aMain(...Array<string>(2).fill('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/1"')),
    aMain('#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/1"', '#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://k/2"'),
  ],
  'steering-pathway': [
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"B"' })),
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"A"' })),
  ],
  'steering-unequal': [
    aMain(
      STEERED,
      aVariant({ 'PATHWAY-ID': '"A"' }, 'a/1.m3u8'),
      aVariant({ 'PATHWAY-ID': '"A"', BANDWIDTH: '3000000' }, 'a/2.m3u8'),
      aVariant({ 'PATHWAY-ID': '"B"' }, 'b/1.m3u8'),
    ),
    aMain(STEERED, aVariant({ 'PATHWAY-ID': '"A"' }, 'a/1.m3u8'), aVariant({ 'PATHWAY-ID': '"B"' }, 'b/1.m3u8')),
  ],
  'captions-unsaid': [aMain(aVariant({ 'CLOSED-CAPTIONS': null })), aMain()],
};
