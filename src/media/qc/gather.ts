/** From what the graph prints to a report, while it is printed: nothing that is held grows with the file. */
import type { Graph, QcStream, Thresholds } from './graph.ts';
import { edgesOf, Letterbox, narrower } from './letterbox.ts';
import { MOST_PEAKS } from './limits.ts';
import { blockReader, type Block, type Key } from './lines.ts';
import { plainPassages, rounded } from './passages.ts';
import type { QcWaveform } from './pictures_schema.ts';
import type { Fields, QcApart, QcAudio, QcBars, QcReport, QcScan, QcTracks, QcVideo } from './schema.ts';
import { TestBars } from './test_bars.ts';
import { TestTone } from './test_tone.ts';

/** A larger difference between the decoded and the declared duration is reported. */
const DURATION_DIFFERS_S = 0.5;
/**
 * Tracks that begin further apart are reported. Usual is less: AAC begins up to 0.05 s early where no edit list takes
 * it off, and pictures that are shown in another order than decoded begin two or three late.
 */
const STARTS_DIFFER_S = 0.1;
/** Tracks whose ends are further apart are reported. The last frame of sound is counted as 0.1 s. */
const ENDS_DIFFER_S = 0.5;
/** Before this, the short-term loudness is of less than its 3 s. */
const SHORT_TERM_S = 3;
/** The meter's value if nothing was above its gate. */
const NOTHING_LUFS = -70;
const CLIPPED_DBFS = -0.1;
/** More than is decoded in the longest time of a request. The times of a file may say anything. */
const MOST_SECONDS = 1e6;
/** What a frame costs at most: a gap before the next is not decoded. */
const LONGEST_FRAME_S = 10;

/** How far the checks are. */
export interface QcProgress {
  /** Seconds of media that were decoded, each begun one: those of the longest stream, without gaps. */
  seconds: number;
  /** Of the declared duration, by the stream of which the least was checked; null if no stream declares it. */
  percent: number | null;
}

/** The time that frames of a stream cover. A frame lasts as long as the one before it. */
class Covered {
  #first: number | undefined;
  #last: number | undefined;
  #step = 0;
  #before = 0;

  take(time: number): void {
    this.#first ??= time;
    if (this.#last !== undefined && time > this.#last) {
      this.#step = time - this.#last;
      this.#before += Math.min(this.#step, LONGEST_FRAME_S);
    }
    this.#last = Math.max(this.#last ?? time, time);
  }

  get start(): number | undefined {
    return this.#first;
  }

  get since(): number {
    return this.#last === undefined ? 0 : this.end! - this.#first!;
  }

  /** Seconds of frames, without gaps. */
  get shown(): number {
    return rounded(this.#before + Math.min(this.#step, LONGEST_FRAME_S));
  }

  get end(): number | undefined {
    return this.#last === undefined ? undefined : this.#last + this.#step;
  }

  told(declared: number | null, whole: boolean) {
    const decoded = this.#last === undefined ? null : rounded(this.since);
    const known = whole && decoded !== null && declared !== null;
    return { decoded, declared, duration_differs: known && Math.abs(decoded - declared) > DURATION_DIFFERS_S };
  }
}

type Track = readonly [stream: number, covered: Covered];

/** Undefined: there are no two tracks to compare. */
function apart(tracks: readonly Track[], at: 'start' | 'end', most: number): QcApart | undefined {
  const times = tracks
    .flatMap(([stream, covered]) => (covered[at] === undefined ? [] : [{ stream, time: covered[at] }]))
    .toSorted((a, b) => a.time - b.time);
  const [first, last] = [times[0], times.at(-1)];
  if (!first || !last || times.length < 2) return undefined;
  const seconds = rounded(last.time - first.time);
  return { apart: seconds, first: first.stream, last: last.stream, differs: seconds > most };
}

function tracksOf(tracks: readonly Track[], whole: boolean): QcTracks | undefined {
  const starts = apart(tracks, 'start', STARTS_DIFFER_S);
  const ends = whole ? apart(tracks, 'end', ENDS_DIFFER_S) : undefined;
  return starts && { starts, ...(ends ? { ends } : {}) };
}

type Values = Block['values'];

/** So few pictures show nothing of their fields. */
const FEWEST_PICTURES = 24;
/** The part of the pictures that has to look alike. */
const NEARLY_ALL = 0.9;

/** How pictures look that were counted, or null. */
function looksOf(counted: Readonly<Record<Fields, number>>): Fields | null {
  const all = Object.values(counted).reduce((sum, one) => sum + one, 0);
  const [most] = Object.entries(counted).sort(([, a], [, b]) => b - a) as [[Fields, number]];
  return all >= FEWEST_PICTURES && most[1] >= NEARLY_ALL * all ? most[0] : null;
}

function scanOf(values: ReadonlyMap<Key, number>, declared: Fields | null): QcScan {
  const of = (key: Key): number => values.get(key) ?? 0;
  const [progressive, top, bottom] = [of('progressive'), of('top_first'), of('bottom_first')];
  const seen = looksOf({ progressive, 'top first': top, 'bottom first': bottom });
  // A picture that shows nothing counts as the ones before it, so that one that is damaged may count for all.
  const single = { progressive, 'top first': of('top_single'), 'bottom first': of('bottom_single') };
  const looks = seen !== null && single[seen] >= FEWEST_PICTURES ? seen : null;
  const differs = looks !== null && declared !== null && looks !== declared;
  return { progressive, top_first: top, bottom_first: bottom, looks, declared, differs };
}

function videoFacts({ index, declared, size, fields }: QcStream, thresholds: Thresholds) {
  let bars: QcBars | undefined;
  const letterbox = size && new Letterbox([size[0], size[1]], thresholds.letterbox_min);
  const testBars = new TestBars(thresholds.test_bars_min);
  const latest = new Map<Key, number>();
  const covered = new Covered();
  const black = plainPassages(thresholds.black_min);
  const freeze = plainPassages(thresholds.freeze_min);
  return {
    covered,
    take({ values, time, isFirst }: Block): void {
      testBars.take(values, time);
      // Of the chain that sees every picture.
      const isEvery = !values.has('mean_u') && !values.has('progressive');
      if (isEvery && isFirst) for (const one of [black, freeze]) one.take(undefined, time ?? covered.end);
      if (size && isEvery) {
        const edges = edgesOf(values, size);
        if (edges) bars = bars ? narrower(bars, edges) : edges;
        letterbox!.take(edges, time);
      }
      black.take(values.get('black_start'), values.get('black_end'));
      freeze.take(values.get('freeze_start'), values.get('freeze_end'));
      for (const [key, value] of values) latest.set(key, value);
    },
    told(whole: boolean): QcVideo {
      const { end } = covered;
      return {
        stream: index,
        ...covered.told(declared, whole),
        black: black.told(end),
        freeze: freeze.told(end),
        scan: scanOf(latest, fields ?? null),
        bars: bars ?? null,
        letterbox: letterbox?.told(end) ?? null,
        test_bars: testBars.told(end),
      };
    },
  };
}

const finite = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? rounded(value) : null;

/** Two channels that differ by less are the same: a coder keeps no more. */
const SAME_PHASE = 0.999;
/** In LUFS: what is quieter has no phase. */
const HEARD_LUFS = -60;

class Phase {
  readonly #opposite;
  #frames = 0;
  #sum = 0;
  #least = 1;

  constructor(shortest: number) {
    this.#opposite = plainPassages(shortest);
  }

  take(values: Values, endsAt: number | undefined): void {
    this.#opposite.take(undefined, endsAt);
    this.#opposite.take(values.get('out_of_phase_start'), values.get('out_of_phase_end'));
    const phase = values.get('phase');
    if (phase === undefined || !((values.get('momentary') ?? NOTHING_LUFS) > HEARD_LUFS)) return;
    this.#frames += 1;
    this.#sum += phase;
    this.#least = Math.min(this.#least, phase);
  }

  told(end: number | undefined): QcAudio['phase'] {
    const isHeard = this.#frames > 0;
    return {
      mean: isHeard ? rounded(this.#sum / this.#frames) : null,
      mono: isHeard && this.#least >= SAME_PHASE,
      out_of_phase: this.#opposite.told(end),
    };
  }
}

/** The largest sample of each step, which is twice as long each time that the sound does not fit. */
class Waveform {
  /** What the loudness meter makes frames of. */
  #step = 0.1;
  #used = 0;
  readonly #peaks = new Uint8Array(MOST_PEAKS);

  take(time: number, dbfs: number): void {
    while (time >= this.#step * MOST_PEAKS) this.#halve();
    const at = Math.min(MOST_PEAKS - 1, Math.max(0, Math.floor(time / this.#step + 1e-6)));
    this.#used = Math.max(this.#used, at + 1);
    this.#peaks[at] = Math.max(this.#peaks[at]!, Math.round(255 * Math.min(1, 10 ** (dbfs / 20))));
  }

  #halve(): void {
    const peaks = this.#peaks;
    for (let at = 0; at < MOST_PEAKS / 2; at += 1) peaks[at] = Math.max(peaks[2 * at]!, peaks[2 * at + 1]!);
    peaks.fill(0, MOST_PEAKS / 2);
    this.#step *= 2;
    this.#used = Math.ceil(this.#used / 2);
  }

  told(stream: number): QcWaveform {
    const peaks = Buffer.from(this.#peaks.subarray(0, this.#used)).toString('base64');
    return { stream, step: rounded(this.#step), peaks };
  }
}

function audioFacts({ index, declared, channels, rate }: QcStream, thresholds: Thresholds) {
  const waveform = new Waveform();
  const phase = channels === 2 ? new Phase(thresholds.phase_min) : undefined;
  const covered = new Covered();
  const silence = plainPassages(thresholds.silence_min);
  const tone = new TestTone(thresholds.test_tone_min);
  /** Integrated loudness, range, true peak: the meter's latest values are of all that it heard. */
  const latest = new Map<Key, number>();
  let shortTermMax: number | undefined;
  return {
    covered,
    take({ values, time, isFirst }: Block): void {
      const endsAt = isFirst ? (time ?? covered.end) : undefined;
      silence.take(undefined, endsAt);
      silence.take(values.get('silence_start'), values.get('silence_end'));
      phase?.take(values, endsAt);
      tone.take(values, time, rate);
      const peak = values.get('sample_peak');
      if (time !== null && peak !== undefined) waveform.take(time, peak);
      for (const [key, value] of values) {
        // The meter may begin anew.
        const before = key === 'sample_peak' || key === 'true_peak' ? latest.get(key) : undefined;
        latest.set(key, Math.max(value, before ?? value));
      }
      const short = values.get('short_term');
      if (short !== undefined && covered.since >= SHORT_TERM_S - 0.05)
        shortTermMax = Math.max(shortTermMax ?? short, short);
    },
    /** Of peaks that are each of their frame. */
    waveform: (): QcWaveform => waveform.told(index),
    told(whole: boolean): QcAudio {
      const integrated = finite(latest.get('integrated'));
      const heard = integrated !== null && integrated > NOTHING_LUFS;
      const [peak, flat] = [finite(latest.get('sample_peak')), finite(latest.get('flat_factor'))];
      const above = (value: number | undefined) => (value !== undefined && value > NOTHING_LUFS ? finite(value) : null);
      return {
        stream: index,
        ...covered.told(declared, whole),
        silence: silence.told(covered.end),
        loudness: {
          integrated: heard ? integrated : null,
          range: heard ? finite(latest.get('range')) : null,
          short_term_max: above(shortTermMax),
          // Printed as a factor.
          true_peak: finite(20 * Math.log10(latest.get('true_peak') ?? Number.NaN)),
        },
        sample_peak: peak,
        flat_factor: flat,
        clipping: peak !== null && peak >= CLIPPED_DBFS && flat !== null && flat > 0,
        dc_offset: finite(latest.get('dc_offset')),
        phase: phase?.told(covered.end) ?? null,
        test_tones: tone.told(covered.end),
      };
    },
  };
}

export function qcGatherer({ checked, left }: Pick<Graph, 'checked' | 'left'>, thresholds: Thresholds) {
  const of = <F>(type: QcStream['type'], make: (stream: QcStream) => F): Map<number, F> =>
    new Map(checked.filter((stream) => stream.type === type).map((stream) => [stream.index, make(stream)]));
  const video = of('video', (stream) => videoFacts(stream, thresholds));
  const audio = of('audio', (stream) => audioFacts(stream, thresholds));
  let frames = 0;
  const reader = blockReader(checked, (block) => {
    const { stream, time } = block;
    const facts = video.get(stream) ?? audio.get(stream);
    if (!facts) return;
    frames += 1;
    if (time !== null) facts.covered.take(time);
    facts.take(block);
  });
  const until = (): number | null => {
    const ends = [...video.values(), ...audio.values()].flatMap(({ covered: { end } }) =>
      end === undefined ? [] : end,
    );
    return ends.length === 0 ? null : rounded(Math.min(...ends));
  };
  return {
    push: (bytes: Buffer): void => reader.push(bytes),
    waveforms: (): QcWaveform[] => [...audio.values()].map((facts) => facts.waveform()),
    /** Frames so far. */
    frames: (): number => frames,
    progress(): QcProgress {
      const all = checked.map(({ index, declared }) => {
        const { since, shown } = (video.get(index) ?? audio.get(index)!).covered;
        return { shown, share: declared ? Math.min(1, since / declared) : null };
      });
      const shares = all.flatMap(({ share }) => share ?? []);
      return {
        seconds: Math.min(MOST_SECONDS, Math.ceil(Math.max(frames > 0 ? 1 : 0, ...all.map(({ shown }) => shown)))),
        percent: shares.length === 0 ? null : Math.floor(100 * Math.min(...shares)),
      };
    },
    /** MD5 of what was decoded, by number of the checked stream: none until the end. */
    hashes: reader.hashes,
    /** `cut`: why the graph was stopped early. */
    told(cut?: string): QcReport {
      const whole = cut === undefined;
      const tracks = tracksOf(
        [...video, ...audio].map(([stream, { covered }]) => [stream, covered]),
        whole,
      );
      return {
        video: [...video.values()].map((facts) => facts.told(whole)),
        audio: [...audio.values()].map((facts) => facts.told(whole)),
        ...(tracks ? { tracks } : {}),
        ...(whole ? {} : { until: until(), cut }),
        thresholds,
        unread_lines: reader.unread(),
        not_checked: left,
      };
    },
  };
}
