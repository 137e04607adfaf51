/** Passages of one check, as the filters print their starts and ends. */
import { MOST_EVENTS } from './limits.ts';
import type { QcEvent } from './schema.ts';

/** Microseconds. */
export const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;

/** Passages of one check. The filters print no end of one that lasts to the end. `More`: what else is told of each. */
export class Passages<More extends object = object> {
  #count = 0;
  #open: number | undefined;
  readonly #list: (QcEvent & More)[] = [];
  readonly #shortest: number;
  readonly #more: () => More;

  /** `more` is asked at the end of each. */
  constructor(shortest: number, more: () => More) {
    this.#shortest = shortest;
    this.#more = more;
  }

  take(start: number | undefined, end: number | undefined): void {
    // A frame may end a passage and begin the next.
    if (end !== undefined) this.#close(end, false);
    if (start !== undefined && Number.isFinite(start)) this.#open ??= start;
  }

  #close(end: number, toEnd: boolean): void {
    const from = this.#open;
    this.#open = undefined;
    // Some filters tell every start, even of what turns out to be too short. Times are printed with six digits.
    if (from === undefined || !(end - from >= this.#shortest - 1e-6)) return;
    this.#count += 1;
    if (this.#list.length < MOST_EVENTS)
      this.#list.push({ from: rounded(from), to: rounded(end), to_end: toEnd, ...this.#more() });
  }

  told(end: number | undefined): { count: number; list: (QcEvent & More)[]; more: number } {
    if (end !== undefined) this.#close(end, true);
    return { count: this.#count, list: this.#list, more: this.#count - this.#list.length };
  }
}

/** Of checks that tell nothing else. */
export const plainPassages = (shortest: number): Passages => new Passages(shortest, () => ({}));
