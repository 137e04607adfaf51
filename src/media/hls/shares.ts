/** What each playlist may add to the report, so that no number of playlists makes it large. */

/** Segment durations of one playlist, and of all. */
export const MOST_DURATIONS = { each: 2_000, all: 20_000 };
/** Characters of one playlist, and of all. */
export const MOST_TEXT = { each: 64 << 10, all: 512 << 10 };

/** The most that each one may have so that all fit: small ones leave their rest to large ones. */
export function shareOf(sizes: readonly number[], { each, all }: { each: number; all: number }): number {
  let left = all;
  const sorted = sizes.map((size) => Math.min(size, each)).sort((a, b) => a - b);
  for (const [index, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (size > share) return share;
    left -= size;
  }
  return each;
}
