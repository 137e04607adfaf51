/** A line-up tone: one sine in all channels that is steady. Music and speech have overtones, and do not stand still. */
import type { Block } from './lines.ts';
import { Passages, rounded } from './passages.ts';
import type { QcTones } from './schema.ts';

/** In dB: how far the peaks of a sine are above its level. */
const CREST_DB = 20 * Math.log10(Math.SQRT2);
/** A coder puts the peaks a little higher. */
const CREST_OFF_DB = 0.25;
/** The mean of the differences between samples beside their root mean square, of a sine; a square wave has nearly 0. */
const FORM = (2 * Math.SQRT2) / Math.PI;
const FORM_OFF = 0.01;
/** Hum of the mains is no tone. */
const LEAST_HZ = 200;
/** In dBFS: quieter is no line-up tone. */
const LEAST_PEAK = -40;
const [HZ_OFF, PEAK_OFF_DB] = [0.01, 0.5];

interface Sine {
  hz: number;
  peak: number;
}

/** What a frame is, from the level and the steepness of its samples. */
function sineOf(values: Block['values'], rate: number): Sine | undefined {
  const [top = Number.NaN, level = Number.NaN] = [values.get('sample_peak'), values.get('level')];
  const [mean = Number.NaN, steep = Number.NaN] = [values.get('mean_difference'), values.get('rms_difference')];
  const peak = level + CREST_DB;
  const hz = (rate / Math.PI) * Math.asin(steep / (2 * 10 ** (level / 20)));
  const isSine = Math.abs(top - peak) <= CREST_OFF_DB && Math.abs(mean / steep - FORM) <= FORM_OFF;
  return isSine && peak >= LEAST_PEAK && hz >= LEAST_HZ ? { hz, peak } : undefined;
}

/** Passages of one sine. Its frequency and level are the means of its frames. */
export class TestTone {
  #first: Sine | undefined;
  #frames = 0;
  #hz = 0;
  #peak = 0;
  readonly #found;

  constructor(shortest: number) {
    this.#found = new Passages(shortest, () => ({
      frequency: Math.round((10 * this.#hz) / this.#frames) / 10,
      level: rounded(this.#peak / this.#frames),
    }));
  }

  take(values: Block['values'], time: number | null, rate: number | undefined): void {
    if (time === null || rate === undefined) return;
    const heard = sineOf(values, rate);
    const first = this.#first;
    const goesOn =
      heard && first && Math.abs(heard.hz / first.hz - 1) <= HZ_OFF && Math.abs(heard.peak - first.peak) <= PEAK_OFF_DB;
    if (!goesOn) {
      this.#found.take(heard && time, first && time);
      this.#first = heard;
      [this.#frames, this.#hz, this.#peak] = [0, 0, 0];
    }
    if (!heard) return;
    this.#frames += 1;
    this.#hz += heard.hz;
    this.#peak += heard.peak;
  }

  told = (end: number | undefined): QcTones => this.#found.told(end);
}
