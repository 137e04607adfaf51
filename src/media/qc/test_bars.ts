/**
 * Colour bars, as SMPTE and the EBU define them. Their layouts differ, but five columns are in all of them at the same
 * place: yellow, cyan, green, magenta, red. Bars stand still, so each picture shows one column, and the next one the
 * next: an upright strip in its middle, of which the filters print the mean colour.
 */
import type { Block } from './lines.ts';
import { plainPassages } from './passages.ts';
import type { QcEvents } from './schema.ts';

/** Seconds between two pictures. */
const STEP_S = 0.09;
/** The middle of the first column, and the way from one to the next, as parts of the width. */
const [FIRST, NEXT] = [0.241, 0.123];

/** Angles of the colours, in degrees: those of BT.601 and BT.709 are 6 apart, at 75 % as at 100 %. */
const ANGLES = [172.5, -74.5, -129.5, 50.5, 105.5];
const MOST_APART = 10;
/** Of 128. At 75 % it is 84 to 100. */
const LEAST_SATURATION = 60;
/** All columns of one picture are as saturated, but for the two standards. */
const MOST_RATIO = 1.35;
/** The lightest and the darkest pixels of a column, of 256: noise of tape, and coders. */
const MOST_UNEVEN = 16;

export const TEST_BARS_CHAIN = [
  `select='isnan(prev_selected_t)+gte(abs(t-prev_selected_t),${STEP_S})'`,
  // Without `exact` nothing is left of fewer than eight rows, and all checks of the pictures fail.
  [
    `crop=w='min(iw,max(2,iw/160))':h='max(1,ih/4)'`,
    `x='iw*(${FIRST}+${NEXT}*mod(n,${ANGLES.length}))-ow/2':y=ih*0.15:exact=1`,
  ].join(':'),
  // Without it a format that cannot be cropped would become this one as a whole picture.
  'scale',
  'format=yuv444p',
  'signalstats',
];

/** The column that a strip may be, and how saturated it is. */
function columnOf(values: Block['values']): { column: number; saturation: number } | undefined {
  const [u, v] = [values.get('mean_u')! - 128, values.get('mean_v')! - 128];
  const saturation = Math.hypot(u, v);
  const uneven = values.get('light')! - values.get('dark')!;
  if (!(saturation >= LEAST_SATURATION) || !(uneven <= MOST_UNEVEN)) return undefined;
  const angle = (Math.atan2(v, u) * 180) / Math.PI;
  const column = ANGLES.findIndex((one) => Math.abs(((angle - one + 540) % 360) - 180) <= MOST_APART);
  return column === -1 ? undefined : { column, saturation };
}

/** Passages in which the columns follow each other, each of them at least once. */
export class TestBars {
  #from = 0;
  #columns = 0;
  #last = 0;
  #least = 0;
  #most = 0;
  readonly #found;

  constructor(shortest: number) {
    this.#found = plainPassages(shortest);
  }

  take(values: Block['values'], time: number | null): void {
    if (time === null || !values.has('mean_u')) return;
    const seen = columnOf(values);
    const [least, most] = [Math.min(this.#least, seen?.saturation ?? 0), Math.max(this.#most, seen?.saturation ?? 0)];
    const follows =
      this.#columns > 0 && seen?.column === (this.#last + 1) % ANGLES.length && most <= MOST_RATIO * least;
    if (!follows) {
      this.#found.take(undefined, time);
      [this.#from, this.#columns] = [time, 0];
    }
    if (!seen) return;
    [this.#least, this.#most] = follows ? [least, most] : [seen.saturation, seen.saturation];
    [this.#last, this.#columns] = [seen.column, this.#columns + 1];
    if (this.#columns === ANGLES.length) this.#found.take(this.#from, undefined);
  }

  told = (end: number | undefined): QcEvents => this.#found.told(end);
}
