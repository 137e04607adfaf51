import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { timelineGatherer } from '../../src/media/timeline/gather.ts';
import { MOST_COLUMNS, MOST_KEYS, MOST_MARKS, MOST_STREAMS } from '../../src/media/timeline/limits.ts';
import { TimelineSchema, type StreamTimeline, type Timeline } from '../../src/media/timeline/schema.ts';
import { heldBytes } from '../held.ts';

const valid = new Ajv({ strict: false }).compile<Timeline>(TimelineSchema);
const time = (seconds: number | null): string => (seconds === null ? 'N/A' : seconds.toFixed(6));
interface Line {
  stream?: number;
  pts: number | null;
  dts?: number | null;
  duration?: number | null;
  bytes?: number;
  key?: boolean;
}
const lineOf = ({ stream = 0, pts, dts = pts, duration = 0.04, bytes = 100, key = false }: Line): string =>
  `packet,${stream},${time(pts)},${time(dts)},${time(duration)},${bytes},${key ? 'K__' : '___'}`;
function gathered(lines: readonly (Line | string)[], cut?: string): Timeline {
  const gatherer = timelineGatherer();
  gatherer.push(Buffer.from(lines.map((line) => `${typeof line === 'string' ? line : lineOf(line)}\n`).join('')));
  const timeline = gatherer.told('9.0', cut);
  assert.ok(valid(timeline), JSON.stringify(valid.errors));
  return timeline;
}
const only = (lines: readonly (Line | string)[]): StreamTimeline =>
  gathered([...lines, 'stream,0,h264,video']).streams[0]!;
const film = (seconds: number, keyEvery: number, more: Partial<Line> = {}): Line[] =>
  Array.from({ length: seconds * 25 }, (_, at) => ({ pts: at / 25, key: at % keyEvery === 0, ...more }));
const total = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);

describe('a timeline', () => {
  it('has bits and packets by time, and what they come to', () => {
    const stream = only([
      { pts: 0, bytes: 1_000, key: true },
      { pts: 0.04, bytes: 10 },
      { pts: 0.13, bytes: 5, duration: 0.12 },
    ]);
    const { keys: _, gops: __, gaps: ___, jumps: ____, ...figures } = stream;
    assert.deepEqual(figures, {
      index: 0,
      type: 'video',
      codec: 'h264',
      start: 0,
      end: 0.25,
      packets: 3,
      bytes: 1_015,
      untimed: 0,
      step: 0.125,
      first: 0,
      bits: [8_080, 40],
      counts: [2, 1],
    });
  });

  for (const [seconds, step] of [
    [250, 0.125],
    [251, 0.25],
    [600, 0.5],
    [3_600, 2],
  ] as const) {
    it(`of ${seconds} s has columns of ${step} s`, () => {
      const stream = only(film(seconds, 50));
      assert.equal(stream.step, step);
      assert.ok(stream.bits.length <= MOST_COLUMNS && stream.bits.length > MOST_COLUMNS / 2 - 1);
      assert.equal(total(stream.bits), seconds * 25 * 800);
      assert.ok(stream.counts.slice(1, -1).every((count) => Math.abs(count - 25 * step) <= 1));
    });
  }

  it('merges pairs that begin at an even column, also before zero', () => {
    const stream = only([
      { pts: -0.2, bytes: 1 },
      { pts: -0.1, bytes: 2 },
      { pts: 0.1, bytes: 4 },
      { pts: 300, bytes: 8 },
    ]);
    assert.deepEqual([stream.step, stream.first, stream.bits.slice(0, 2)], [0.25, -0.25, [24, 32]]);
    assert.equal(stream.bits.at(-1), 64);
  });

  it('holds a time that is far away', () => {
    const stream = only([{ pts: 0 }, { pts: 999_999_999 }, { pts: -999_999_999 }]);
    assert.ok(stream.bits.length <= MOST_COLUMNS);
    assert.equal(total(stream.counts), 3);
  });

  it('lists key frames and measures groups of pictures', () => {
    const { keys, gops } = only(film(10, 50));
    assert.deepEqual(keys, { count: 5, every: false, times: [0, 2, 4, 6, 8] });
    assert.deepEqual(gops, { count: 4, min: 2, mean: 2, max: 2, open: true });
  });

  it('of a stream of key frames alone does not list them', () => {
    const { keys, gops } = only(film(1, 1));
    assert.deepEqual(
      [keys, gops],
      [
        { count: 25, every: true, times: [] },
        { count: 24, min: 0.04, mean: 0.04, max: 0.04 },
      ],
    );
  });

  it('of sound has no key frames', () => {
    const { streams } = gathered([...film(1, 1), 'stream,0,aac,audio']);
    assert.deepEqual([streams[0]?.keys.count, streams[0]?.gops], [0, null]);
  });

  it('takes presentation times for key frames, and decoding times for bits', () => {
    const { keys, start, first } = only([
      { pts: 0.08, dts: 0, key: true },
      { pts: 0.2, dts: 0.04 },
      { pts: 0.12, dts: 0.08 },
      { pts: 1.08, dts: 1, key: true },
    ]);
    assert.deepEqual([keys.times, start, first], [[0.08, 1.08], 0.08, 0]);
  });

  for (const [what, lines, gaps, jumps] of [
    ['no gap', film(1, 5), [], []],
    ['a gap', [{ pts: 0 }, { pts: 5 }], [[0.04, 4.96]], []],
    ['no gap that is a rounding', [{ pts: 0 }, { pts: 0.14 }], [], []],
    ['no gap before a frame that is shown for long', [{ pts: 0, duration: 5 }, { pts: 5 }], [], []],
    [
      'a gap without durations',
      [
        { pts: 0, duration: null },
        { pts: 0.04, duration: null },
        { pts: 3, duration: null },
      ],
      [[0.08, 2.92]],
      [],
    ],
    ['a jump back', [{ pts: 100 }, { pts: 3 }, { pts: 3.04 }], [], [[100, -97]]],
    [
      'no jump by the order of presentation',
      [
        { pts: 0.12, dts: null },
        { pts: 0.04, dts: null },
      ],
      [],
      [],
    ],
    [
      'a jump of presentation times alone',
      [
        { pts: 9, dts: null },
        { pts: 1, dts: null },
      ],
      [],
      [[9, -8]],
    ],
    [
      'no gap between pictures of another order, whose decoding times begin late',
      [
        ...[0, 0.16, 0.08, 0.04, 0.12].map((pts) => ({ pts, dts: null })),
        { pts: 0.32, dts: 0.16 },
        { pts: 0.24, dts: 0.2 },
      ],
      [],
      [],
    ],
    [
      'a gap of presentation times alone',
      [0, 0.08, 0.04, 3, 3.08, 3.04].map((pts) => ({ pts, dts: null })),
      [[0.12, 2.88]],
      [],
    ],
    [
      'no jump between the two kinds of times',
      [
        { pts: 9, dts: null },
        { pts: 1, dts: 1 },
      ],
      [],
      [],
    ],
  ] as const) {
    it(`tells of ${what}`, () => {
      const stream = only(lines);
      assert.deepEqual([stream.gaps.list, stream.jumps.list], [gaps, jumps]);
      assert.deepEqual([stream.gaps.count, stream.jumps.count], [gaps.length, jumps.length]);
    });
  }

  it('of subtitles has no gaps', () => {
    const { streams } = gathered([{ pts: 0 }, { pts: 50 }, 'stream,0,subrip,subtitle']);
    assert.equal(streams[0]?.gaps.count, 0);
  });

  it('counts packets without a time', () => {
    const { packets, untimed, bytes, bits, start, end } = only([
      { pts: null, dts: null },
      { pts: null, dts: null },
    ]);
    assert.deepEqual([packets, untimed, bytes, bits, start, end], [2, 2, 200, [], null, null]);
  });

  it('of several streams is in their order, with those that have no packet', () => {
    const { streams } = gathered([
      { stream: 1, pts: 0 },
      { stream: 0, pts: 0 },
      'stream,0,h264,video',
      'stream,1,aac,audio',
      'stream,2,subrip,subtitle',
    ]);
    assert.deepEqual(
      streams.map(({ index, codec, packets }) => [index, codec, packets]),
      [
        [0, 'h264', 1],
        [1, 'aac', 1],
        [2, 'subrip', 0],
      ],
    );
  });

  it('that is cut says until when and why, and takes no half of a line', () => {
    const gatherer = timelineGatherer();
    gatherer.push(Buffer.from(`${lineOf({ pts: 7, key: true })}\npacket,0,99`));
    const told = gatherer.told('9.0', 'ffprobe did not finish within 100 ms', [
      { index: 0, type: 'video', codec: 'vp9' },
    ]);
    assert.deepEqual([told.until, told.cut, told.streams[0]?.packets], [7, 'ffprobe did not finish within 100 ms', 1]);
    assert.deepEqual([told.streams[0]?.type, told.streams[0]?.codec], ['video', 'vp9']);
  });

  it('of nothing is empty', () =>
    assert.deepEqual(gathered([], 'why'), { version: '9.0', until: 0, cut: 'why', streams_left_out: 0, streams: [] }));

  it('is bounded, whatever is in the source', () => {
    const gatherer = timelineGatherer();
    const before = heldBytes();
    // 100 streams with more columns, key frames, gaps and jumps than a timeline holds.
    for (let round = 0; round < 3_000; round++) {
      const lines: string[] = [];
      for (let stream = 0; stream < 100; stream++) {
        const at = round * 3 + (round % 7 === 0 ? -5 : 0);
        lines.push(lineOf({ stream, pts: at, bytes: 99_999_999, key: true }), lineOf({ stream, pts: at + 0.04 }));
      }
      gatherer.push(Buffer.from(`${lines.join('\n')}\n`));
    }
    const told = gatherer.told('9.0');
    assert.ok(valid(told), JSON.stringify(valid.errors));
    const text = JSON.stringify(told);
    assert.ok(text.length < 3_000_000, `${text.length} bytes`);
    assert.deepEqual([told.streams.length, told.streams_left_out], [MOST_STREAMS, 100 - MOST_STREAMS]);
    const [first] = told.streams;
    assert.ok(first!.keys.count === 3_000 && first!.keys.times.length < MOST_KEYS && first!.keys.times.length > 0);
    assert.ok(first!.gaps.count > MOST_MARKS && first!.gaps.list.length > 0 && first!.gaps.list.length < MOST_MARKS);
    assert.ok(heldBytes() - before < 200_000_000);
  }).timeout(60_000);
});

describe('a timeline of anything', () => {
  /** Deterministic, so that a failure can be seen again. */
  const random = (seed: number) => () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const PARTS = [
    'packet',
    'stream',
    ',',
    ',',
    ',',
    '\n',
    '\n',
    '0',
    '1',
    '63',
    '-',
    '.',
    'N/A',
    'K__',
    '1e9',
    '9999999999',
    'h264',
    'video',
    '"',
    '\r',
    '\0',
    'é',
  ];

  for (let seed = 1; seed <= 40; seed++) {
    it(`is one, whatever is printed (${seed})`, () => {
      const next = random(seed);
      const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
      const packet = (): string =>
        lineOf({
          stream: Math.floor(next() * 80),
          pts: next() < 0.1 ? null : (next() - 0.3) * 10 ** Math.floor(next() * 10),
          bytes: Math.floor(next() * 1e6),
          key: next() < 0.5,
        });
      const text = Array.from({ length: 3_000 }, () => (next() < 0.3 ? `${packet()}\n` : pick(PARTS))).join('');
      const bytes = Buffer.from(text);
      const read = (size: () => number): Timeline => {
        const gatherer = timelineGatherer();
        for (let at = 0; at < bytes.length;) {
          const end = at + size();
          gatherer.push(bytes.subarray(at, end));
          at = end;
        }
        return gatherer.told('9.0');
      };
      const whole = read(() => bytes.length);
      assert.ok(valid(whole), JSON.stringify(valid.errors));
      assert.deepEqual(
        read(() => 1 + Math.floor(next() * 300)),
        whole,
      );
      for (const { packets, untimed, counts, bits, bytes: all } of whole.streams) {
        assert.equal(total(counts), packets - untimed);
        assert.ok(total(bits) <= all * 8);
      }
    });
  }
});
