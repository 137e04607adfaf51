/**
 * Bits and packets over time, in a bounded number of columns. A column is a power of two seconds wide; when there is no
 * room for another, columns are merged by pairs and are twice as wide.
 */
import { MOST_COLUMNS } from './limits.ts';

const NARROWEST_S = 0.125;

const zeros = (length: number): number[] => Array.from({ length }, () => 0);

export class Columns {
  step = NARROWEST_S;
  /** Number of the first column: it begins at `base * step`. */
  base = 0;
  bits: number[] = [];
  counts: number[] = [];

  add(time: number, bits: number): void {
    const at = this.#makeRoom(time) - this.base;
    this.bits[at]! += bits;
    this.counts[at]! += 1;
  }

  /** The number of the column that the time is in. */
  #makeRoom(time: number): number {
    for (;;) {
      const column = Math.floor(time / this.step);
      if (this.bits.length === 0) this.base = column;
      const first = Math.min(this.base, column);
      const last = Math.max(this.base + this.bits.length - 1, column);
      if (last - first < MOST_COLUMNS) {
        this.#extend(this.base - first, last - first + 1);
        this.base = first;
        return column;
      }
      this.#mergePairs();
    }
  }

  /** `before`: columns that are put in front. */
  #extend(before: number, length: number): void {
    if (before > 0) {
      this.bits = [...zeros(before), ...this.bits];
      this.counts = [...zeros(before), ...this.counts];
    }
    while (this.bits.length < length) {
      this.bits.push(0);
      this.counts.push(0);
    }
  }

  #mergePairs(): void {
    // A pair begins at an even number.
    const odd = Math.abs(this.base) % 2;
    const merged = (values: readonly number[]): number[] => {
      const pairs = zeros(Math.ceil((values.length + odd) / 2));
      for (const [at, value] of values.entries()) pairs[Math.floor((at + odd) / 2)]! += value;
      return pairs;
    };
    this.bits = merged(this.bits);
    this.counts = merged(this.counts);
    this.base = Math.floor(this.base / 2);
    this.step *= 2;
  }
}
