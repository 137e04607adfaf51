/** What breaks and what keeps the rules of src/media/hls/rules/low_latency.ts. */
import { vod, live, lowLatency } from './playlists.ts';
import type { Examples } from './index.ts';

const aPart = (attributes = '', duration = '0.5'): string =>
  `#EXT-X-PART:DURATION=${duration},URI="p.mp4"${attributes}`;
const control = (attributes: string): string => live('#EXT-X-MEDIA-SEQUENCE:10', `#EXT-X-SERVER-CONTROL:${attributes}`);

export const LOW_LATENCY_EXAMPLES: Examples = {
  'part-inf-missing': [lowLatency([aPart()], { partInf: '' }), lowLatency([aPart()])],
  'part-long': [lowLatency([aPart('', '0.6')]), lowLatency([aPart()])],
  'part-short': [lowLatency([aPart('', '0.4'), aPart()]), lowLatency([aPart('', '0.43'), aPart()])],
  'part-sum': [
    lowLatency([aPart(), aPart(), '#EXTINF:6,', '14.ts']),
    lowLatency([...Array<string>(12).fill(aPart()), '#EXTINF:6,', '14.ts']),
  ],
  'part-independent': [
    lowLatency(Array<string>(12).fill(aPart()).concat('#EXTINF:6,', '14.ts')),
    lowLatency([aPart(',INDEPENDENT=YES'), ...Array<string>(11).fill(aPart()), '#EXTINF:6,', '14.ts']),
  ],
  'part-old': [
    lowLatency([
      ...Array<string>(12).fill(aPart(',INDEPENDENT=YES')),
      '#EXTINF:6,',
      '14.ts',
      '#EXTINF:6,',
      '15.ts',
      '#EXTINF:6,',
      '16.ts',
      '#EXTINF:6,',
      '17.ts',
      '#EXTINF:6,',
      '18.ts',
    ]),
    lowLatency([...Array<string>(12).fill(aPart(',INDEPENDENT=YES')), '#EXTINF:6,', '14.ts']),
  ],
  'part-ended': [
    vod(
      '#EXT-X-PART-INF:PART-TARGET=0.5',
      aPart(',INDEPENDENT=YES', '6').replace('=6', '=0.5'),
      '#EXTINF:0.5,',
      'a.ts',
    ),
    vod(),
  ],
  'part-target-long': [
    lowLatency([aPart('', '7')], { partInf: '7', control: 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=21' }),
    lowLatency([aPart()]),
  ],
  'hold-back': [control('HOLD-BACK=17'), control('HOLD-BACK=18')],
  'part-hold-back-missing': [lowLatency([aPart()], { control: 'CAN-BLOCK-RELOAD=YES' }), lowLatency([aPart()])],
  'part-hold-back': [
    lowLatency([aPart()], { control: 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.9' }),
    lowLatency([aPart()]),
  ],
  'part-hold-back-short': [
    lowLatency([aPart()], { control: 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.2' }),
    lowLatency([aPart()]),
  ],
  'skip-until': [control('CAN-SKIP-UNTIL=35'), control('CAN-SKIP-UNTIL=36')],
  'skip-dateranges': [control('CAN-SKIP-DATERANGES=YES'), control('CAN-SKIP-DATERANGES=YES,CAN-SKIP-UNTIL=36')],
  'block-reload': [lowLatency([aPart()], { control: 'PART-HOLD-BACK=1.5' }), lowLatency([aPart()])],
  'delta-unsupported': [
    lowLatency([aPart()], { control: 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5' }),
    lowLatency([aPart()]),
  ],
  'low-latency-date': [lowLatency([aPart()]).replace(/#EXT-X-PROGRAM.*\n/, ''), lowLatency([aPart()])],
  'preload-hint-missing': [lowLatency([aPart()], { hint: false }), lowLatency([aPart()])],
  'preload-hint-double': [
    lowLatency([aPart(), '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="b.mp4"']),
    lowLatency([aPart(), '#EXT-X-PRELOAD-HINT:TYPE=MAP,URI="b.mp4"']),
  ],
  'preload-hint-ended': [vod('#EXT-X-PRELOAD-HINT:TYPE=PART,URI="b.mp4"'), vod()],
  'report-uri': [
    lowLatency([aPart(), '#EXT-X-RENDITION-REPORT:URI="https://a/b.m3u8",LAST-MSN=1']),
    lowLatency([aPart(), '#EXT-X-RENDITION-REPORT:URI="../b.m3u8",LAST-MSN=1']),
  ],
  'skip-unasked': [lowLatency(['#EXT-X-SKIP:SKIPPED-SEGMENTS=3', aPart()]), lowLatency([aPart()])],
};
