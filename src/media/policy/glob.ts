/**
 * Globs: `*` is any text, `?` any one character, all else is itself. Compiled once. A match reads each piece between
 * two stars at the first place where it fits, so it never goes back behind a star.
 */
import { LONGEST_COMPARED } from './limits.ts';

const fitsAt = (piece: string, value: string, at: number): boolean => {
  for (let place = 0; place < piece.length; place++)
    if (piece[place] !== '?' && piece[place] !== value[at + place]) return false;
  return true;
};

function placeOf(piece: string, value: string, from: number, last: number): number {
  if (!piece.includes('?')) {
    const at = value.indexOf(piece, from);
    return at < 0 || at > last ? -1 : at;
  }
  for (let at = from; at <= last; at++) if (fitsAt(piece, value, at)) return at;
  return -1;
}

export type Glob = ReturnType<typeof globOf>;

export function globOf(text: string, caseless: boolean) {
  const wanted = caseless ? text.toLowerCase() : text;
  const [first = '', ...rest] = wanted.split(/\*+/);
  const last = rest.pop();
  const pieces = rest.filter((piece) => piece !== '');
  // At the worst, all of a piece is read at each place of the value.
  const longest = pieces.reduce((sum, piece) => sum + piece.length, 1);
  return {
    text,
    /** At most this many steps for one value, in pieces of 16 characters. */
    cost: (value: string): number => 1 + ((Math.min(value.length, LONGEST_COMPARED) * longest) >> 4),
    matches(given: string): boolean {
      const cut = given.slice(0, LONGEST_COMPARED);
      const value = caseless ? cut.toLowerCase() : cut;
      if (last === undefined) return value.length === first.length && fitsAt(first, value, 0);
      if (value.length < first.length + last.length || !fitsAt(first, value, 0)) return false;
      const end = value.length - last.length;
      let at = first.length;
      for (const piece of pieces) {
        const found = placeOf(piece, value, at, end - piece.length);
        if (found < 0) return false;
        at = found + piece.length;
      }
      return fitsAt(last, value, end);
    },
  };
}
