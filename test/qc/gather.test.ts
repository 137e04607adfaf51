import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import { graphOf, type QcStream } from '../../src/media/qc/graph.ts';
import { LONGEST_MESSAGE, MOST_AUDIO, MOST_ERRORS, MOST_EVENTS, MOST_REPORT_BYTES } from '../../src/media/qc/limits.ts';
import { type Fields, QcReportSchema, type QcReport } from '../../src/media/qc/schema.ts';
import { BLACK_WITH_TONE, block, frameLine } from './printed.ts';
import { NONE, THRESHOLDS } from './reports.ts';
import { heldBytes } from '../held.ts';

const valid = new Ajv({ strict: false }).compile<QcReport>(QcReportSchema);
const stream = (index: number, type: QcStream['type'], declared: number | null = null): QcStream => ({
  index,
  type,
  declared,
});
const FILM = [stream(0, 'video', 5), stream(1, 'audio', 5)];

function gathered(pieces: readonly (string | Buffer)[], streams = FILM, cut?: string): QcReport {
  const gatherer = qcGatherer(graphOf(streams, THRESHOLDS), THRESHOLDS);
  for (const piece of pieces) gatherer.push(Buffer.from(piece));
  const report = gatherer.told(cut);
  assert.ok(valid(report), JSON.stringify(valid.errors));
  return report;
}
const picture = (text: string, declared: number | null = null) =>
  gathered([text], [stream(0, 'video', declared)]).video[0]!;
const sound = (text: string) => gathered([text], [stream(0, 'audio')]).audio[0]!;

describe('content checks: the report', () => {
  it('has findings that last to the end, durations, loudness and peaks', () => {
    const { video, audio, not_checked: left, unread_lines: unread, until } = gathered([BLACK_WITH_TONE]);
    const whole = { count: 1, list: [{ from: 0, to: 5, to_end: true }], more: 0 };
    const lasted = { decoded: 5, declared: 5, duration_differs: false };
    const unseen = { progressive: 0, top_first: 0, bottom_first: 0, looks: null, declared: null, differs: false };
    assert.deepEqual(video, [
      { stream: 0, ...lasted, black: whole, freeze: whole, scan: unseen, bars: null, letterbox: null, test_bars: NONE },
    ]);
    assert.deepEqual(audio, [
      {
        stream: 1,
        ...lasted,
        silence: NONE,
        loudness: { integrated: -21.1, range: 0, short_term_max: -21.054, true_peak: -18.0618 },
        sample_peak: -18.063921,
        flat_factor: 0,
        clipping: false,
        dc_offset: null,
        phase: null,
        test_tones: NONE,
      },
    ]);
    assert.deepEqual([left, unread, until], [[], 0, undefined]);
  });

  it('has the largest sample of all frames; a waveform has that of each step', () => {
    const gatherer = qcGatherer(graphOf(FILM, THRESHOLDS, true), THRESHOLDS);
    const peaks = ['-inf', '-6.0206', '-0.1', '-40'];
    for (const [at, level] of peaks.entries())
      gatherer.push(Buffer.from(block(1, at, at / 10, { 'astats.Overall.Peak_level': level })));
    assert.equal(gatherer.told().audio[0]!.sample_peak, -0.1);
    const [one, ...more] = gatherer.waveforms();
    const { peaks: text, ...rest } = one!;
    assert.deepEqual([rest, more], [{ stream: 1, step: 0.1 }, []]);
    assert.deepEqual([...Buffer.from(text, 'base64')], [0, 127, 252, 3]);
  });

  it('a waveform of long sound has longer steps, and no more values', () => {
    const gatherer = qcGatherer(graphOf(FILM, THRESHOLDS, true), THRESHOLDS);
    const push = (at: number, time: number | string) =>
      gatherer.push(Buffer.from(block(1, at, time, { 'astats.Overall.Peak_level': at % 1_000 === 0 ? 0 : -6.0206 })));
    for (let at = 0; at < 10_000; at += 1) push(at, at / 10);
    push(10_000, 'nan');
    gatherer.told();
    const { step, peaks } = gatherer.waveforms()[0]!;
    assert.equal(step, 3.2);
    const values = [...Buffer.from(peaks, 'base64')];
    assert.equal(values.length, Math.ceil(1_000 / 3.2));
    const loud = values.flatMap((value, at) => (value === 255 ? [at] : []));
    assert.deepEqual(
      loud,
      Array.from({ length: 10 }, (_, at) => Math.floor((at * 100) / 3.2)),
    );
    push(10_001, 9e11);
    push(10_002, -5);
    gatherer.told();
    assert.ok(Buffer.from(gatherer.waveforms()[0]!.peaks, 'base64').length <= 400);
  });

  it('is the same wherever the output is cut', () => {
    const bytes = Buffer.from(BLACK_WITH_TONE.slice(0, 4_000));
    const expected = gathered([bytes]);
    for (let at = 0; at <= bytes.length; at += 1)
      assert.deepEqual(gathered([bytes.subarray(0, at), bytes.subarray(at)]), expected, `at ${at}`);
    assert.deepEqual(gathered([...bytes].map((byte) => Buffer.from([byte]))), expected);
  });

  it('is the same however the lines of pictures and of sound are mixed', () => {
    const lines = (index: number) =>
      Array.from({ length: 40 }, (_, at) =>
        index === 0
          ? block(0, at, at / 10, at === 3 ? { black_start: 0.3 } : {})
          : block(1, at, 0.5 + at / 10, { 'r128.M': -20, silence_start: at === 5 ? 1 : 'nan' }),
      )
        .join('')
        .split('\n')
        .slice(0, -1);
    const [pictures, sounds] = [lines(0), lines(1)];
    const expected = gathered([[...pictures, ...sounds, ''].join('\n')]);
    assert.deepEqual([expected.tracks!.starts.apart, expected.audio[0]!.silence.count], [0.5, 1]);
    for (const every of [1, 2, 3, 5]) {
      const rest = [...sounds];
      const mixed = pictures.flatMap((line, at) => [line, ...rest.splice(0, at % every === 0 ? every : 0)]);
      assert.deepEqual(gathered([[...mixed, ...rest, ''].join('\n')]), expected, `every ${every}`);
    }
  });

  it('of output that ends anywhere never counts a torn line', () => {
    const text = block(0, 0, 0) + block(0, 1, 1, { black_start: 1 }) + block(0, 2, 4, { black_end: 44 });
    for (let at = 0; at < text.length; at += 1) {
      const { black } = picture(text.slice(0, at));
      for (const { to } of black.list) assert.ok(to < 44, `at ${at}`);
    }
  });

  it('leaves out what is shorter than the threshold', () => {
    const { black } = picture(
      block(0, 0, 0, { black_start: 0 }) +
        block(0, 1, 1.9, { black_end: 1.9 }) +
        block(0, 2, 3, { black_start: 3 }) +
        block(0, 3, 5, { black_end: 5 }),
    );
    assert.deepEqual(black, { count: 1, list: [{ from: 3, to: 5, to_end: false }], more: 0 });
  });

  it('ends what is open where filters begin anew, which print no end of it', () => {
    const { black, freeze } = picture(
      block(0, 0, 0, { black_start: 0, 'freezedetect.freeze_start': 0 }) +
        block(0, 75, 3, { 'signalstats.UAVG': 128 }) +
        block(0, 0, 3.04, { 'signalstats.UAVG': 128 }) +
        block(0, 76, 3.04) +
        block(0, 0, 3.08, { black_start: 3.08 }) +
        block(0, 100, 9),
    );
    const first = { from: 0, to: 3.08, to_end: false };
    assert.deepEqual([black.count, black.list[0], freeze.list], [2, first, [first]]);
    const { silence } = sound(block(0, 0, 0, { silence_start: 0 }) + block(0, 0, 4) + block(0, 50, 9));
    assert.deepEqual(silence.list, [{ from: 0, to: 4, to_end: false }]);
    const peaks = (value: number) => ({ 'r128.I': -20, 'r128.true_peaks_ch0': value });
    const { loudness } = sound(block(0, 0, 0, peaks(1)) + block(0, 0, 4, peaks(0.1)));
    assert.equal(loudness.true_peak, 0);
  });

  it('says that it was cut, and until when', () => {
    const { until, cut, video } = gathered([BLACK_WITH_TONE], [stream(0, 'video', 60), stream(1, 'audio')], 'too slow');
    assert.deepEqual([until, cut, video[0]?.duration_differs], [5, 'too slow', false]);
    assert.equal(gathered([], FILM, 'too slow').until, null);
  });

  it('says where tracks begin and end, as far as they do', () => {
    const frames = (index: number, from: number, to: number) =>
      Array.from({ length: Math.round((to - from) * 10) }, (_, at) => block(index, at, from + at / 10)).join('');
    const tracks = (text: string, cut?: string) => gathered([text], FILM, cut).tracks;
    assert.deepEqual(tracks(frames(0, 0, 5) + frames(1, 0.1, 4.5)), {
      starts: { apart: 0.1, first: 0, last: 1, differs: false },
      ends: { apart: 0.5, first: 1, last: 0, differs: false },
    });
    assert.deepEqual(tracks(frames(1, 0, 5) + frames(0, 0.2, 4.4)), {
      starts: { apart: 0.2, first: 1, last: 0, differs: true },
      ends: { apart: 0.6, first: 0, last: 1, differs: true },
    });
    assert.equal(tracks(frames(0, 0, 5) + frames(1, 0, 1), 'too slow')?.ends, undefined);
    assert.equal(tracks(frames(0, 0, 5)), undefined);
  });

  it('says that less was decoded than declared', () => {
    const frames = Array.from({ length: 50 }, (_, at) => block(0, at, at / 10)).join('');
    assert.equal(picture(frames, 5.5).duration_differs, false);
    assert.equal(picture(frames, 5.6).duration_differs, true);
    assert.deepEqual([picture('', 5).decoded, picture('', 5).duration_differs], [null, false]);
  });

  it('has null for what silence has not, and no short-term loudness before 3 s', () => {
    const quiet = { 'r128.I': '-70.000', 'r128.S': '-120.691', 'r128.true_peaks_ch0': '0.000' };
    const level = { 'astats.Overall.Peak_level': '-inf' };
    const { loudness, sample_peak: peak } = sound(block(0, 0, 0, quiet) + block(0, 1, 4, { ...quiet, ...level }));
    assert.deepEqual(loudness, { integrated: null, range: null, short_term_max: null, true_peak: null });
    assert.equal(peak, null);
    const early = sound(block(0, 0, 0, { 'r128.S': -5 }) + block(0, 1, 0.1, { 'r128.S': -6 }));
    assert.equal(early.loudness.short_term_max, null);
  });

  it('takes the largest true peak of all channels, and finds clipping', () => {
    const { loudness, clipping } = sound(
      block(0, 0, 0, {
        'r128.true_peaks_ch0': 0.5,
        'r128.true_peaks_ch1': 1,
        'r128.true_peaks_ch2': 0.1,
        'astats.Overall.Peak_level': 0,
        'astats.Overall.Flat_factor': 3.5,
      }),
    );
    assert.deepEqual([loudness.true_peak, clipping], [0, true]);
  });

  it('says how far it is: begun seconds of the longest stream, percent of the one that is least checked', () => {
    const of = (text: string, ...streams: QcStream[]) => {
      const gatherer = qcGatherer(graphOf(streams, THRESHOLDS), THRESHOLDS);
      gatherer.push(Buffer.from(text));
      gatherer.push(Buffer.from(`${frameLine(9, 9)}\n`));
      return gatherer.progress();
    };
    const frames = block(0, 0, 0) + block(0, 1, 4.1) + block(1, 0, 0) + block(1, 1, 1);
    const [film, tone] = [stream(0, 'video', 100), stream(1, 'audio', 8)];
    assert.deepEqual(of('', film, tone), { seconds: 0, percent: 0 });
    assert.deepEqual(of(frames, film, tone), { seconds: 9, percent: 8 });
    assert.deepEqual(of(frames, { ...film, declared: null }, tone), { seconds: 9, percent: 25 });
    assert.deepEqual(of(frames, { ...film, declared: null }), { seconds: 9, percent: null });
    assert.deepEqual(of(frames, { ...film, declared: 2 }), { seconds: 9, percent: 100 });
    // One frame, and gaps: what is not decoded does not count.
    assert.deepEqual(of(block(0, 0, 0), film), { seconds: 1, percent: 0 });
    assert.deepEqual(of(block(0, 0, 'nan'), film), { seconds: 1, percent: 0 });
    assert.deepEqual(of(block(0, 0, 0) + block(0, 1, 1) + block(0, 2, 500_000), film), { seconds: 21, percent: 100 });
    assert.deepEqual(of(block(0, 0, 0) + block(0, 1, '9e99'), film), { seconds: 20, percent: 100 });
    const steady = Array.from({ length: 250 }, (_, at) => block(0, at, (at / 25).toFixed(2))).join('');
    assert.equal(of(steady, film).seconds, 10);
    const long = Array.from({ length: 100_001 }, (_, at) => block(0, at, at * 10)).join('');
    assert.equal(of(long, film).seconds, 1e6);
  });

  it('survives lines that no printer writes', () => {
    const { video, unread_lines: unread } = gathered([
      'no line of a printer\n',
      `lavfi.black_start=${'9'.repeat(1_000_000)}\n`,
      `${frameLine(0, 0)}\nlavfi.black_start=nan\nlavfi.black_end=1e999\n__proto__=1\nconstructor=2\nqc=0\n`,
      `${frameLine(1, 'NOPTS')}\nlavfi.black_start=-0.5\nqc=0\n`,
      `${frameLine(2, '-0.2')}\nlavfi.black_end=inf\nqc=0\n`,
      `${frameLine(3, 2)}\nlavfi.black_end=2\nqc=0\n`,
      `${frameLine(4, 3)}\nlavfi.black_end=3\nqc=77\n`,
      `${frameLine(5, 3)}\nlavfi.black_end=3\n`,
    ]);
    assert.deepEqual(video[0]!.black.list, [{ from: -0.5, to: 2, to_end: false }]);
    assert.equal(unread, 2);
  });

  it('stays small: a million blocks, each with a finding', function () {
    this.timeout(60_000);
    const gatherer = qcGatherer(graphOf(FILM, THRESHOLDS), THRESHOLDS);
    const piece = (from: number) =>
      Array.from({ length: 1_000 }, (_, at) => {
        const time = (from + at) * 3;
        return block(0, from + at, time, at % 2 === 0 ? { black_start: time } : { black_end: time });
      }).join('');
    gatherer.push(Buffer.from(piece(0)));
    const before = heldBytes();
    for (let from = 1_000; from < 1_000_000; from += 1_000) gatherer.push(Buffer.from(piece(from)));
    assert.ok(heldBytes() - before < 8 * 1024 * 1024);
    const report = gatherer.told();
    assert.equal(gatherer.frames(), 1_000_000);
    const { count, list, more } = report.video[0]!.black;
    assert.deepEqual([count, list.length, more], [500_000, MOST_EVENTS, 500_000 - MOST_EVENTS]);
    assert.ok(JSON.stringify(report).length < 100_000);
  });

  it('stays below its longest with as many findings of each check as are listed', () => {
    const lit = (top: number) => ({ 'bbox.x1': 0, 'bbox.x2': 1919, 'bbox.y1': top, 'bbox.y2': 1079 - top });
    // A sine of 1 kHz.
    const [level, steep] = [-23.0103, 0.009252];
    const levels = { Peak_level: -20, RMS_level: level, Mean_difference: 0.9003 * steep, RMS_difference: steep };
    const tone = Object.entries(levels).map(([key, value]) => [`astats.Overall.${key}`, value.toFixed(6)]);
    const tracks = Array.from({ length: MOST_AUDIO }, (_, at) => at + 1);
    const piece = (at: number): string => {
      const [from, to] = [1e6 + 0.123456 + at * 10, 1e6 + 4.123457 + at * 10];
      const starts = { silence_start: from, 'aphasemeter.out_phase_start': from, ...Object.fromEntries(tone) };
      const ends = { silence_end: to, 'aphasemeter.out_phase_end': to };
      const pictures = [
        block(0, 1, from, { black_start: from, 'freezedetect.freeze_start': from, ...lit(140) }),
        block(0, 2, to, { black_end: to, 'freezedetect.freeze_end': to, ...lit(140) }),
        block(0, 3, to + 1, lit(0)) + block(0, 4, to + 2, lit(0)),
      ];
      return [
        ...pictures,
        ...tracks.flatMap((track) => block(track, 1, from, starts) + block(track, 2, to, ends)),
      ].join('');
    };
    const sounds = tracks.map((track) => ({ ...stream(track, 'audio'), channels: 2, rate: 48_000 }));
    const film = [{ ...stream(0, 'video'), size: [1920, 1080, 8] as const }, ...sounds];
    const report = gathered(
      Array.from({ length: MOST_EVENTS + 1 }, (_, at) => piece(at)),
      film,
    );
    const [video, audio] = [report.video[0]!, report.audio[0]!];
    const found = [video.black, video.freeze, video.letterbox!, audio.silence, audio.phase!.out_of_phase];
    const counted = [...found, audio.test_tones].map(({ list }) => list.length);
    assert.deepEqual(
      counted,
      counted.map(() => MOST_EVENTS),
    );
    const error = JSON.stringify({ at: 1e8 + 0.123456, byte: 1e14, what: '"'.repeat(LONGEST_MESSAGE) });
    const others = (1 + MOST_AUDIO) * MOST_ERRORS * error.length + JSON.stringify(video.black.list).length;
    assert.ok(JSON.stringify(report).length + others < MOST_REPORT_BYTES);
  });
});

describe('content checks: the graph', () => {
  it('has the first picture and the first few sounds, and says what is left out', () => {
    const sounds = Array.from({ length: MOST_AUDIO + 1 }, (_, at) => stream(at + 2, 'audio'));
    const { filters, maps, checked, left } = graphOf([stream(0, 'video'), stream(1, 'video'), ...sounds], THRESHOLDS);
    assert.equal(checked.length, 1 + MOST_AUDIO);
    assert.deepEqual(maps, [...checked.map(({ index }) => `[qc${index}]`), '[fields]', '[bars]']);
    assert.deepEqual(
      filters.map((filter) => filter.split(';').length),
      [4, MOST_AUDIO],
    );
    assert.deepEqual(
      left.map(({ stream: index, why }) => [index, why]),
      [
        [1, 'only the first video stream is checked'],
        [MOST_AUDIO + 2, 'only the first 8 audio streams are checked'],
      ],
    );
  });

  it('passes the thresholds', () => {
    const { filters } = graphOf([stream(3, 'video'), stream(5, 'audio')], {
      ...THRESHOLDS,
      black_min: 0.5,
      silence_noise: -50,
    });
    assert.match(filters[0]!, /^\[0:3\].*freezedetect=n=-60dB:d=2,.*blackdetect=d=0\.5:pic_th=0\.98:pix_th=0\.1,/);
    assert.match(filters[1]!, /^\[0:5\].*silencedetect=n=-50dB:d=2,/);
  });

  it('of nothing is empty', () => {
    assert.deepEqual(graphOf([], THRESHOLDS), {
      filters: [],
      maps: [],
      checked: [],
      pictures: false,
      pictured: undefined,
      left: [],
    });
  });

  const scanned = (counted: Record<string, number>, fields?: Fields) => {
    const { single: sure = counted['tff']! + counted['bff']!, ...all } = counted;
    const keys = Object.entries(all).map(([key, value]) => [`idet.multiple.${key}`, value]);
    const singles = { 'idet.single.tff': Math.min(sure, all['tff']!), 'idet.single.bff': Math.min(sure, all['bff']!) };
    const text = block(0, 0, 0, { ...Object.fromEntries(keys), ...singles });
    return gathered([text], [{ ...stream(0, 'video'), ...(fields ? { fields } : {}) }]).video[0]!.scan;
  };
  for (const [counted, fields, looks, differs] of [
    [{ progressive: 240, tff: 10, bff: 0 }, 'progressive', 'progressive', false],
    [{ progressive: 10, tff: 240, bff: 0 }, 'progressive', 'top first', true],
    [{ progressive: 0, tff: 0, bff: 250 }, 'top first', 'bottom first', true],
    [{ progressive: 0, tff: 250, bff: 0 }, undefined, 'top first', false],
    [{ progressive: 150, tff: 100, bff: 0 }, 'top first', null, false],
    [{ progressive: 0, tff: 23, bff: 0 }, 'progressive', null, false],
    [{ progressive: 0, tff: 24, bff: 0 }, 'progressive', 'top first', true],
    [{ progressive: 0, tff: 864, bff: 0, single: 9 }, 'progressive', null, false],
    [{ progressive: 0, tff: 864, bff: 0, single: 24 }, 'progressive', 'top first', true],
  ] as const)
    it(`looks ${looks} of ${JSON.stringify(counted)}, declared ${fields}`, () => {
      const scan = scanned(counted, fields);
      assert.deepEqual([scan.looks, scan.declared, scan.differs], [looks, fields ?? null, differs]);
    });

  it('has bars by what is lit in any picture', () => {
    const lit = (frame: number, left: number, right: number, top: number, bottom: number) =>
      block(0, frame, frame, { 'bbox.x1': left, 'bbox.x2': right, 'bbox.y1': top, 'bbox.y2': bottom });
    const film: QcStream = { ...stream(0, 'video'), size: [1920, 1080, 8] };
    const barsOf = (text: string, streams = [film]) => gathered([text], streams).video[0]!.bars;
    assert.deepEqual(barsOf(lit(0, 100, 1800, 200, 900) + block(0, 1, 1) + lit(2, 0, 1919, 140, 800)), {
      left: 0,
      right: 0,
      top: 140,
      bottom: 179,
    });
    assert.equal(barsOf(block(0, 0, 0)), null);
    assert.equal(barsOf(lit(0, 0, 1, 0, 1), [stream(0, 'video')]), null);
    // A picture that is larger than declared has no bars.
    assert.deepEqual(barsOf(lit(0, 0, 3839, 0, 2159)), { left: 0, right: 0, top: 0, bottom: 0 });
  });

  it('has the phase of two channels where something is heard', () => {
    const heard = (frame: number, phase: number, more: Record<string, number> = {}) =>
      block(0, frame, frame / 10, { 'r128.M': more['M'] ?? -20, 'aphasemeter.phase': phase, ...more });
    const phaseOf = (text: string, channels = 2) =>
      gathered([text], [{ ...stream(0, 'audio'), channels }]).audio[0]!.phase;
    assert.deepEqual(phaseOf(heard(0, 1) + heard(1, 0) + heard(2, -1, { M: -61 })), {
      mean: 0.5,
      mono: false,
      out_of_phase: NONE,
    });
    assert.deepEqual(phaseOf(heard(0, 1) + heard(1, 0.999)), { mean: 0.9995, mono: true, out_of_phase: NONE });
    assert.deepEqual(phaseOf(heard(0, 1, { M: -70 })), { mean: null, mono: false, out_of_phase: NONE });
    assert.equal(phaseOf(heard(0, 1), 6), null);
    const opposite = heard(0, -1, { 'aphasemeter.out_phase_start': 0 }) + heard(30, -1);
    assert.deepEqual(phaseOf(opposite)?.out_of_phase.list, [{ from: 0, to: 6, to_end: true }]);
  });
});
