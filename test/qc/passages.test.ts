/** Passages that are told from each frame: colour bars, tones, and bars at the edges that come and go. */
import assert from 'node:assert/strict';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import { graphOf, type QcStream } from '../../src/media/qc/graph.ts';
import { block } from './printed.ts';
import { THRESHOLDS } from './reports.ts';

const FILM: QcStream = { index: 0, type: 'video', declared: null, size: [1920, 1080, 8] };
const SOUND: QcStream = { index: 0, type: 'audio', declared: null, channels: 2, rate: 48_000 };

function told(stream: QcStream, text: string) {
  const gatherer = qcGatherer(graphOf([stream], THRESHOLDS), THRESHOLDS);
  gatherer.push(Buffer.from(text));
  return gatherer.told();
}

type Strip = readonly [u: number, v: number, uneven?: number];
/** As the filters print them of bars at 75 %, by BT.601 and by BT.709. */
const SD: readonly Strip[] = [
  [44, 142],
  [156, 44],
  [72, 58],
  [184, 198],
  [100, 212],
];
const HD: readonly Strip[] = [
  [44, 136],
  [147, 44],
  [63, 52],
  [193, 204],
  [109, 212],
];
const GREY: Strip = [128, 128];
const turns = (count: number, strips: readonly Strip[]): Strip[] => Array.from({ length: count }, () => strips).flat();
const greys = (count: number): Strip[] => Array.from({ length: count }, () => GREY);

describe('content checks: colour bars', () => {
  const found = (strips: readonly Strip[]) => {
    const printed = strips.map(([u, v, uneven = 0], at) =>
      block(0, at, at / 10, {
        'signalstats.YLOW': 100,
        'signalstats.YHIGH': 100 + uneven,
        'signalstats.UAVG': u,
        'signalstats.VAVG': v,
      }),
    );
    return told(FILM, printed.join('')).video[0]!.test_bars.list.map(({ from, to, to_end: last }) => [from, to, last]);
  };
  for (const [what, strips, expected] of [
    ['of SMPTE to the end', turns(5, SD), [[0, 2.5, true]]],
    ['of HD, between something else', [...greys(7), ...turns(6, HD), ...greys(9)], [[0.7, 3.7, false]]],
    ['that begin with any column', [GREY, ...SD.slice(3), ...turns(5, SD), GREY], [[0.1, 2.8, false]]],
    [
      'twice',
      [...turns(5, SD), GREY, ...turns(5, HD)],
      [
        [0, 2.5, false],
        [2.6, 5.1, true],
      ],
    ],
    ['not for less than 2 s', [...turns(3, SD), GREY], []],
    ['not where a colour is missing', turns(8, SD.slice(0, 4)), []],
    ['not in another order', turns(8, SD.toReversed()), []],
    [
      'not where a column is not of one colour',
      turns(
        8,
        SD.map(([u, v]) => [u, v, 40] as const),
      ),
      [],
    ],
    [
      'not where they are pale',
      turns(
        8,
        SD.map(([u, v]) => [128 + (u - 128) / 2, 128 + (v - 128) / 2] as const),
      ),
      [],
    ],
    ['not where one is paler than the others', turns(8, [[58, 140], ...SD.slice(1, 3), [202, 222], SD[4]!]), []],
    ['not of one colour', greys(40).map(() => SD[4]!), []],
  ] as [string, Strip[], unknown[]][])
    it(`are found ${what}`, () => assert.deepEqual(found(strips), expected));
});

const sine = (hz: number, peak = -18): Record<string, number> => {
  const level = 10 ** (peak / 20) / Math.SQRT2;
  const steep = 2 * level * Math.sin((Math.PI * hz) / 48_000);
  return {
    'astats.Overall.Peak_level': peak,
    'astats.Overall.RMS_level': peak - 3.0103,
    'astats.Overall.Mean_difference': Number((steep * 0.9003).toFixed(6)),
    'astats.Overall.RMS_difference': Number(steep.toFixed(6)),
  };
};
const square = { ...sine(1_000), 'astats.Overall.RMS_level': -18 };
const triangle = { ...sine(1_000), 'astats.Overall.RMS_level': -22.77 };
const overtones = {
  ...sine(1_000),
  'astats.Overall.Mean_difference': 0.0102,
};

describe('content checks: line-up tones', () => {
  const found = (frames: readonly Record<string, number>[]) =>
    told(SOUND, frames.map((values, at) => block(0, at, at / 10, values)).join('')).audio[0]!.test_tones.list.map(
      ({ from, to, to_end: last, frequency, level }) => [from, to, last, frequency, Math.round(level * 10) / 10],
    );
  const times = <T>(count: number, of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at));
  for (const [what, frames, expected] of [
    ['with frequency and level', times(30, () => sine(1_000)), [[0, 3, true, 1_000, -18]]],
    ['that ends', [...times(25, () => sine(440, -9)), triangle], [[0, 2.5, false, 440, -9]]],
    [
      'and another',
      times(60, (at) => sine(at < 30 ? 1_000 : 400)),
      [
        [0, 3, false, 1_000, -18],
        [3, 6, true, 400, -18],
      ],
    ],
    ['but none of less than 2 s', [...times(19, () => sine(1_000)), square], []],
    ['but no silence', times(30, () => ({ ...sine(1_000), 'astats.Overall.RMS_level': -Infinity })), []],
    ['but no square wave', times(30, () => square), []],
    ['but no triangle', times(30, () => triangle), []],
    ['but nothing with overtones', times(30, () => overtones), []],
    ['but no vibrato', times(30, (at) => sine(440 * (1 + 0.03 * Math.sin(at)))), []],
    ['but no note that fades', times(30, (at) => sine(440, -10 - at / 5)), []],
    ['but no melody', times(60, (at) => sine(440 * 2 ** (Math.floor(at / 5) / 12))), []],
    ['but no hum of the mains', times(30, () => sine(100)), []],
    ['but nothing as quiet as noise', times(30, () => sine(1_000, -55)), []],
  ] as [string, Record<string, number>[], unknown[]][])
    it(`are found ${what}`, () => assert.deepEqual(found(frames), expected));
});

type Edges = readonly [left: number, right: number, top: number, bottom: number] | null;
const [FULL, WIDE, NARROW, DARK]: readonly Edges[] = [[0, 0, 0, 0], [0, 0, 138, 138], [240, 240, 0, 0], null];
const CORNER: Edges = [200, 900, 500, 300];
const SUBTITLED: Edges = [0, 0, 138, 40];
const TITLE: Edges = [500, 500, 480, 480];

describe('content checks: bars that come and go', () => {
  /** Ten pictures a second. */
  const found = (...scenes: readonly (readonly [Edges | undefined, number])[]) => {
    const pictures = scenes.flatMap(([edges, count]) => Array.from({ length: count }, () => edges));
    const printed = pictures.map((edges, at) => {
      const [left, right, top, bottom] = edges ?? [];
      const lit = { 'bbox.x1': left, 'bbox.x2': 1919 - right!, 'bbox.y1': top, 'bbox.y2': 1079 - bottom! };
      return block(0, at, at / 10, edges ? lit : {});
    });
    const { changes, list } = told(FILM, printed.join('')).video[0]!.letterbox!;
    return [changes, ...list.map(({ from, to, left, right, top, bottom }) => [from, to, left, right, top, bottom])];
  };
  for (const [what, scenes, expected] of [
    ['are none of a full picture', [[FULL, 50]], [false]],
    ['do not change where they are there throughout', [[WIDE, 50]], [false, [0, 5, 0, 0, 138, 138]]],
    [
      'come and go',
      [
        [FULL, 30],
        [WIDE, 30],
        [FULL, 30],
      ],
      [true, [3, 6, 0, 0, 138, 138]],
    ],
    [
      'become others',
      [
        [WIDE, 30],
        [NARROW, 30],
      ],
      [true, [0, 3, 0, 0, 138, 138], [3, 6, 240, 240, 0, 0]],
    ],
    [
      'become wider',
      [
        [[0, 0, 60, 60], 30],
        [WIDE, 30],
      ],
      [true, [0, 3, 0, 0, 60, 60], [3, 6, 0, 0, 138, 138]],
    ],
    [
      'go on in the dark',
      [
        [WIDE, 30],
        [DARK, 50],
        [CORNER, 50],
        [WIDE, 30],
      ],
      [false, [0, 16, 0, 0, 138, 138]],
    ],
    [
      'go on to the end in the dark',
      [
        [WIDE, 30],
        [DARK, 50],
      ],
      [false, [0, 8, 0, 0, 138, 138]],
    ],
    [
      'end where the dark before a full picture begins',
      [
        [WIDE, 30],
        [DARK, 10],
        [FULL, 20],
      ],
      [true, [0, 3, 0, 0, 138, 138]],
    ],
    [
      'go on with a subtitle in one',
      [
        [WIDE, 30],
        [SUBTITLED, 40],
        [WIDE, 10],
      ],
      [false, [0, 8, 0, 0, 138, 138]],
    ],
    [
      'go on through a flash',
      [
        [WIDE, 30],
        [FULL, 3],
        [WIDE, 30],
      ],
      [false, [0, 6.3, 0, 0, 138, 138]],
    ],
    [
      'are none of a dark scene',
      [
        [FULL, 30],
        [CORNER, 50],
        [DARK, 50],
        [FULL, 30],
      ],
      [false],
    ],
    [
      'are none of a title',
      [
        [DARK, 20],
        [TITLE, 50],
        [DARK, 20],
        [FULL, 30],
      ],
      [false],
    ],
    [
      'are none of less than 2 s',
      [
        [FULL, 30],
        [WIDE, 18],
        [FULL, 30],
      ],
      [false],
    ],
    [
      'are none where few pictures show them',
      [
        [FULL, 20],
        ...Array.from({ length: 20 }, () => [
          [WIDE, 1],
          [CORNER, 3],
        ]).flat(),
      ],
      [false],
    ],
    [
      'are a little off',
      [
        [WIDE, 20],
        [[0, 2, 134, 139], 20],
      ],
      [false, [0, 4, 0, 0, 134, 138]],
    ],
  ] as [string, [Edges, number][], unknown[]][])
    it(what, () => assert.deepEqual(found(...scenes), expected));

  it('are unknown of pictures without a size', () => {
    const { size: _, ...film } = FILM;
    assert.equal(told(film, block(0, 0, 0)).video[0]!.letterbox, null);
  });
});
