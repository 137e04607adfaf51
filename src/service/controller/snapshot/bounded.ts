/** The first entries of a list by rank, limited in number and bytes, without sorting the whole list. Pure. */

export interface Bounds {
  most: number;
  /** Size as JSON. */
  bytes: number;
}

export interface Bounded<T> {
  items: T[];
  leftOut: number;
}

/**
 * `before` is negative if `a` comes first. Cost: one pass over all entries, with a binary search among the kept ones.
 */
export function firstOf<T>(all: Iterable<T>, most: number, before: (a: T, b: T) => number): { first: T[]; of: number } {
  const first: T[] = [];
  let of = 0;
  for (const one of all) {
    of += 1;
    const last = first.at(-1);
    if (first.length >= most && (last === undefined || before(one, last) >= 0)) continue;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(one, first[middle] as T) < 0) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, one);
    if (first.length > most) first.pop();
  }
  return { first, of };
}

/**
 * `show` is called for kept entries only. An entry that is too large is left out; the ones after it are still tried.
 */
export function bounded<T, Shown>(
  all: Iterable<T>,
  { most, bytes }: Bounds,
  before: (a: T, b: T) => number,
  show: (one: T) => Shown,
): Bounded<Shown> {
  const { first, of } = firstOf(all, most, before);
  const items: Shown[] = [];
  let left = bytes;
  for (const one of first) {
    const shown = show(one);
    const size = Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (size > left) continue;
    left -= size;
    items.push(shown);
  }
  return { items, leftOut: of - items.length };
}
