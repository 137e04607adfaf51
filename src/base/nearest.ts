/** The known name closest to an unknown one, for "did you mean". */

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours each cost one. */
export function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(above[column]! + 1, line[column - 1]! + 1, above[column - 1]! + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, before[column - 2]! + 1);
      line.push(cost);
    }
    before = above;
    above = line;
  }
  return above[b.length]!;
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[-_\s]/g, '');

/** A third of the longer name may differ, or one character of a short one; a name of which nothing is left is none. */
function isNear(apart: number, longer: number): boolean {
  return apart === 0 || (apart <= Math.max(1, Math.floor(longer / 3)) && apart < longer);
}

/** Undefined where none is near. Ignores case and separators: `showStreams` equals `show_streams`. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  // Bounds the cost of a hostile name, which is compared with every known one.
  const wanted = plain(name.slice(0, 64));
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const other = plain(candidate);
    const apart = distance(wanted, other);
    if (isNear(apart, Math.max(wanted.length, other.length)) && (!best || apart < best.distance))
      best = { name: candidate, distance: apart };
  }
  return best?.name;
}
