/** Layouts of formats that say in their head where the rest of the metadata is: RIFF, and audio with tags. */
import type { Layout, Peek } from './layout.ts';
import type { Wanted } from './read_ahead.ts';

/** Chunks behind the media: names, cues, an index. */
const INDEX = 64 << 10;
/** Tags at the end of an audio file have their sizes in the last bytes. */
const TAGS_AT_END = 4 << 10;
const LONGEST_TAG = 8 << 20;
const MOST_CHUNKS = 64;

/** Walks the chunks of a wav or avi file to the first that follows the media. */
export function riffLayout(size: number): Layout {
  let at = 12;
  let chunks = 0;
  const step = (peek: Peek): Wanted[] => {
    while (at + 12 <= size && chunks < MOST_CHUNKS) {
      const header = peek(at, 12);
      if (header === undefined) return [];
      chunks++;
      const type = header.toString('latin1', 0, 4);
      const isMedia = type === 'data' || (type === 'LIST' && header.toString('latin1', 8, 12) === 'movi');
      const length = header.readUInt32LE(4);
      // Chunks have even lengths.
      at += 8 + length + (length % 2);
      if (!isMedia) continue;
      const end = at;
      at = size;
      return end < size ? [{ from: end, to: Math.min(size, end + INDEX) }] : [];
    }
    return [];
  };
  return { step };
}

/** An ID3 tag before the audio may hold a large picture, which tools read to its end; other tags follow the audio. */
export function tags(head: Buffer, size: number): Wanted[] {
  const atEnd = { from: Math.max(0, size - TAGS_AT_END), to: size };
  const tag = Math.min(tagLength(head), LONGEST_TAG, size);
  return tag === 0 ? [atEnd] : [{ from: 0, to: tag }, atEnd];
}

/** Each of the four bytes has seven bits. */
function tagLength(head: Buffer): number {
  if (head.toString('latin1', 0, 3) !== 'ID3') return 0;
  return 10 + head.subarray(6, 10).reduce((length, byte) => length * 128 + (byte & 127), 0);
}
