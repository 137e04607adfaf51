/** A JSON value within a number of bytes. What does not fit is left out and named, largest parts first. */
import { visibleBytes } from './visible.ts';
import { DEEPEST, joined } from './path.ts';

export interface LeftOut {
  path: string;
  bytes: number;
  /** Of a list or text: what to continue from. */
  next_offset?: number;
}

/** What is named. Others are counted. */
const MOST_NAMED = 12;
/** Members of a list below this are cut off at its end, instead of shortened each. */
const LEAST_ITEM_BYTES = 300;
const MARK_BYTES = 48;

export interface Shortened {
  value: unknown;
  leftOut: LeftOut[];
}

export type Sizes = (value: unknown, depth?: number) => number;

/** Sizes as sent, each computed once. */
export function makeSizes(): Sizes {
  const known = new WeakMap<object, number>();
  const sizeOf = (value: unknown, depth = 0): number => {
    if (typeof value === 'string') return visibleBytes(value);
    if (typeof value !== 'object' || value === null) return String(value).length;
    const before = known.get(value);
    if (before !== undefined) return before;
    if (depth > DEEPEST) return Infinity;
    const members = Array.isArray(value)
      ? value.map((item) => sizeOf(item, depth + 1) + 1)
      : Object.entries(value).map(([name, member]) => visibleBytes(name) + sizeOf(member, depth + 1) + 2);
    const size = 2 + members.reduce((sum, bytes) => sum + bytes, 0);
    known.set(value, size);
    return size;
  };
  return sizeOf;
}

/** `sizeOf`: makeSizes(), given where the same value is shortened again. */
export function shorten(value: unknown, mostBytes: number, path = '', sizeOf = makeSizes()): Shortened {
  const leftOut: LeftOut[] = [];

  const note = (at: string, bytes: number, next?: number): void => {
    leftOut.push({ path: at, bytes, ...(next === undefined ? {} : { next_offset: next }) });
  };

  function omitted(part: unknown, at: string): string {
    const bytes = sizeOf(part);
    note(at, Number.isFinite(bytes) ? bytes : -1);
    return Number.isFinite(bytes) ? `[left out: ${bytes} bytes]` : '[left out: nested too deeply]';
  }

  function text(part: string, most: number, at: string): string {
    if (most < 2 * MARK_BYTES) return omitted(part, at);
    let length = Math.min(part.length, most - MARK_BYTES);
    while (length > 0 && visibleBytes(part.slice(0, length)) > most - MARK_BYTES) length = Math.floor(length * 0.8);
    note(at, sizeOf(part), length);
    return `${part.slice(0, length).toWellFormed()} [${part.length - length} more characters]`;
  }

  function list(part: readonly unknown[], most: number, at: string): unknown[] {
    const share = Math.floor((most - MARK_BYTES) / part.length);
    if (share >= LEAST_ITEM_BYTES) {
      const shares = sharesOf(
        part.map((item) => sizeOf(item) + 1),
        most - 2,
      );
      return part.map((item, index) => fit(item, shares[index]! - 1, joined(at, index)));
    }
    const kept: unknown[] = [];
    let left = most - MARK_BYTES;
    for (const item of part) {
      const bytes = sizeOf(item) + 1;
      if (bytes > left) break;
      kept.push(item);
      left -= bytes;
    }
    if (kept.length === 0 && left > LEAST_ITEM_BYTES) kept.push(fit(part[0], left, joined(at, 0)));
    note(at, sizeOf(part), kept.length);
    return [...kept, `[${part.length - kept.length} more items]`];
  }

  function object(part: object, most: number, at: string): unknown {
    const all = Object.entries(part);
    const names = all.map(([name]) => visibleBytes(name) + 3);
    const needed = names.reduce((sum, bytes) => sum + bytes + MARK_BYTES, 0);
    if (needed > most) return omitted(part, at);
    const shares = sharesOf(
      all.map(([, member], index) => sizeOf(member) + names[index]!),
      most - 2,
    );
    return Object.fromEntries(
      all.map(([name, member], index) => [name, fit(member, shares[index]! - names[index]!, joined(at, name))]),
    );
  }

  function fit(part: unknown, most: number, at: string): unknown {
    if (sizeOf(part) <= most) return part;
    if (typeof part === 'string') return text(part, most, at);
    if (most < 2 * MARK_BYTES || typeof part !== 'object' || part === null) return omitted(part, at);
    return Array.isArray(part) ? list(part, most, at) : object(part, most, at);
  }

  return { value: fit(value, mostBytes, path), leftOut };
}

/** Small parts get what they need; the rest is shared evenly among the large ones. */
function sharesOf(sizes: readonly number[], most: number): number[] {
  const shares = sizes.map(() => 0);
  const order = sizes.map((_, index) => index).sort((a, b) => sizes[a]! - sizes[b]!);
  let left = most;
  for (const [rank, index] of order.entries()) {
    const share = Math.min(sizes[index]!, Math.floor(left / (order.length - rank)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/** The parts to name, the largest first. */
export function named(leftOut: readonly LeftOut[]): { parts: LeftOut[]; others: number } {
  const parts = leftOut.toSorted((a, b) => b.bytes - a.bytes).slice(0, MOST_NAMED);
  return { parts, others: leftOut.length - parts.length };
}
