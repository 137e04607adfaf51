/** The first so many of a list by rank, within so many bytes, without sorting the whole list. Pure. */

export interface Bounds {
  most: number;
  /** As JSON. */
  bytes: number;
}

export interface Bounded<T> {
  items: T[];
  leftOut: number;
}

/** `before` is negative where `a` comes first. Work: one pass over all, and a search among those that are kept. */
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

/** What is shown of each is made for those that are kept alone. One that is too large is left out, and no other. */
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
