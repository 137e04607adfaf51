/** Characters that change how text looks without being seen, as symbols. */
export interface Piece {
  text: string;
  /** What it is called, where it stands for a character that cannot be seen. */
  name: string | null;
}

/** Controls, formats (directions, joiners), halves of characters, ends of lines, and what Unicode says is not drawn. */
export const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Fonts have no picture for most of them: the number is always readable. */
const nameOf = (code: number): string => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;

export function inPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(UNSEEN)) {
    if (index > from) pieces.push({ text: text.slice(from, index), name: null });
    const name = nameOf(found.codePointAt(0)!);
    pieces.push({ text: `[${name}]`, name });
    from = index + found.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), name: null });
  return pieces;
}

/** As text alone, for attributes and copies. */
export const visible = (text: string): string =>
  inPieces(text)
    .map((piece) => piece.text)
    .join('');
