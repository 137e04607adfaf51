/**
 * Predicts what a tool will read of a file, from the file's structure while its head arrives. A wrong prediction only
 * costs time: whatever a tool requests is fetched anyway.
 */
import type { Wanted } from './read_ahead.ts';

export type Peek = (offset: number, length: number) => Buffer | undefined;

export interface Layout {
  /** Of a format without pictures. */
  isSound?: boolean;
  /** Examines the data so far and returns the ranges worth fetching, each once. */
  step(peek: Peek): Wanted[];
}

const HEADER = 16;
/** Maximum part of a box worth fetching at once, and of fragments that can matter for a probe. */
const LONGEST = 8 << 20;
const MOST_FRAGMENTS = 64;
/**
 * Well-formed files have about ten boxes before `moov`. The bound stops the walk through a file of nothing but empty
 * boxes.
 */
const MOST_BOXES = 1024;

export function layoutOf(head: Buffer, size: number): Layout | undefined {
  if (head.length < 12) return undefined;
  const type = head.toString('latin1', 4, 8);
  if (/^(?:ftyp|moov|mdat|free|skip|wide|styp|sidx|pnot)$/.test(type)) return mp4Layout(size);
  if (head[0] === 0x47 && (head.length <= 188 || head[188] === 0x47)) return tailLayout(size, 256 << 10);
  if (head.readUInt32BE(0) === 0x000001ba) return tailLayout(size, 256 << 10);
  if (head.toString('latin1', 0, 4) === 'OggS') return tailLayout(size, 64 << 10);
  if (head.readUInt32BE(0) === 0x1a45dfa3) return matroskaLayout(size);
  // A key of SMPTE: the partition pack of an MXF file, which has a list of its partitions at its end.
  if (head.readUInt32BE(0) === 0x060e2b34) return tailLayout(size, 64 << 10);
  if (head.toString('latin1', 0, 4) === 'RIFF')
    return { ...riffLayout(size), isSound: head.toString('latin1', 8, 12) === 'WAVE' };
  const isAudio = /^(?:ID3|fLaC)/.test(head.toString('latin1', 0, 4)) || (head.readUInt16BE(0) & 0xffe0) === 0xffe0;
  if (isAudio) return { ...knownLayout(tags(head, size)), isSound: true };
  return undefined;
}

const tailLayout = (size: number, length: number): Layout =>
  knownLayout([{ from: Math.max(0, size - length), to: size }]);

/** The head alone says it all. */
function knownLayout(wanted: Wanted[]): Layout {
  let done = false;
  return {
    step() {
      if (done) return [];
      done = true;
      return wanted;
    },
  };
}

/** Walks the top-level boxes: to `moov` wherever it is, and from fragment to fragment. */
function mp4Layout(size: number): Layout {
  let at = 0;
  let asked = -1;
  let fragments = 0;
  let boxes = 0;
  let tail: 'unasked' | 'asked' | 'done' = 'unasked';

  const step = (peek: Peek): Wanted[] => {
    const wanted: Wanted[] = [];
    if (tail === 'asked') {
      const found = fragmentIndex(peek, size);
      if (found !== undefined) {
        tail = 'done';
        wanted.push(...found);
      }
    }
    while (at + 8 <= size && fragments <= MOST_FRAGMENTS && boxes <= MOST_BOXES) {
      const bytes = peek(at, Math.min(HEADER, size - at));
      if (bytes === undefined) {
        if (asked !== at) wanted.push({ from: at, to: Math.min(size, at + HEADER) });
        asked = at;
        break;
      }
      boxes++;
      const box = boxOf(bytes, at, size);
      if (box === undefined) {
        at = size;
        break;
      }
      if (box.type === 'moov' || box.type === 'sidx')
        wanted.push({ from: at, to: Math.min(box.end, size, at + LONGEST) });
      if (box.type === 'moof') {
        fragments++;
        wanted.push({ from: at, to: Math.min(box.end + HEADER, size, at + LONGEST) });
        // A fragmented file may have an index at its very end, which saves walking from one fragment to the next.
        if (tail === 'unasked') {
          tail = 'asked';
          wanted.push({ from: Math.max(0, size - 4096), to: size });
        }
      }
      at = box.end;
    }
    return wanted;
  };
  return { step };
}

interface Box {
  type: string;
  end: number;
}

function boxOf(bytes: Buffer, at: number, size: number): Box | undefined {
  const type = bytes.toString('latin1', 4, 8);
  if (!/^[\x20-\x7e\xa9]{4}$/.test(type)) return undefined;
  let length = bytes.readUInt32BE(0);
  if (length === 1) {
    if (bytes.length < 16) return undefined;
    length = Number(bytes.readBigUInt64BE(8));
  } else if (length === 0) {
    length = size - at;
  }
  return length >= 8 ? { type, end: at + length } : undefined;
}

/** The fragments listed by an `mfra` at the end; undefined while the end has not arrived. */
function fragmentIndex(peek: Peek, size: number): Wanted[] | undefined {
  const last = peek(size - 16, 16);
  if (last === undefined) return undefined;
  if (last.toString('latin1', 4, 8) !== 'mfro') return [];
  const length = last.readUInt32BE(12);
  if (length < 24 || length > Math.min(size, 1 << 20)) return [];
  const index = peek(size - length, length);
  if (index === undefined) return [{ from: size - length, to: size }];
  const offsets = new Set<number>();
  for (let at = 8; at + 24 <= index.length;) {
    const boxLength = index.readUInt32BE(at);
    if (boxLength < 24 || at + boxLength > index.length) break;
    if (index.toString('latin1', at + 4, at + 8) === 'tfra') readTrack(index.subarray(at, at + boxLength), offsets);
    at += boxLength;
  }
  return [...offsets]
    .filter((offset) => offset < size)
    .sort((a, b) => a - b)
    .slice(0, MOST_FRAGMENTS)
    .map((offset) => ({ from: offset, to: Math.min(size, offset + 8192) }));
}

function readTrack(box: Buffer, offsets: Set<number>): void {
  const version = box[8];
  const sizes = box[19]!;
  const entries = box.readUInt32BE(20);
  const numbers = ((sizes >> 4) & 3) + ((sizes >> 2) & 3) + (sizes & 3) + 3;
  const step = (version === 1 ? 16 : 8) + numbers;
  for (let i = 0, at = 24; i < entries && i < 4096 && at + step <= box.length; i++, at += step) {
    offsets.add(version === 1 ? Number(box.readBigUInt64BE(at + 8)) : box.readUInt32BE(at + 4));
  }
}

/** Matroska's SeekHead gives the positions of its cues and tags, which writers put last. */
function matroskaLayout(size: number): Layout {
  let done = false;
  const step = (peek: Peek): Wanted[] => {
    const head = done ? undefined : peek(0, Math.min(4096, size));
    if (head === undefined) return [];
    done = true;
    const first = elementOf(head, 0);
    const segment = first && elementOf(head, first.body + first.length);
    if (segment?.id !== 0x18538067) return [];
    for (let at = segment.body; ;) {
      const element = elementOf(head, at);
      if (element === undefined) return [];
      if (element.id === 0x114d9b74) return placesOf(head, element, segment.body, size);
      at = element.body + element.length;
    }
  };
  return { step };
}

interface Element {
  id: number;
  body: number;
  length: number;
}

function elementOf(bytes: Buffer, at: number): Element | undefined {
  const idLength = Math.clz32(bytes[at] ?? 0) - 23;
  if (idLength > 4 || at + idLength >= bytes.length) return undefined;
  const id = bytes.readUIntBE(at, idLength);
  const from = at + idLength;
  const width = Math.clz32(bytes[from]!) - 23;
  if (width > 8 || from + width > bytes.length) return undefined;
  let length = bytes[from]! & (0xff >> width);
  for (let i = 1; i < width; i++) length = length * 256 + bytes[from + i]!;
  return { id, body: from + width, length };
}

function placesOf(head: Buffer, seekHead: Element, base: number, size: number): Wanted[] {
  const wanted: Wanted[] = [];
  const end = Math.min(head.length, seekHead.body + seekHead.length);
  for (let at = seekHead.body; at < end && wanted.length < 8;) {
    const seek = elementOf(head, at);
    if (seek === undefined) break;
    at = seek.body + seek.length;
    for (let inner = seek.body; seek.id === 0x4dbb && inner < at;) {
      const part = elementOf(head, inner);
      if (part === undefined) break;
      inner = part.body + part.length;
      if (part.id !== 0x53ac || part.length < 1 || part.length > 6 || inner > head.length) continue;
      const place = base + head.readUIntBE(part.body, part.length);
      if (place > head.length && place < size) wanted.push({ from: place, to: Math.min(size, place + 65536) });
    }
  }
  return wanted;
}

/** Chunks behind the media: names, cues, an index. */
const INDEX = 64 << 10;
/** Tags at the end of an audio file have their sizes in the last bytes. */
const TAGS_AT_END = 4 << 10;
const LONGEST_TAG = 8 << 20;
const MOST_CHUNKS = 64;

/** Walks the chunks of a wav or avi file to the first that follows the media. */
function riffLayout(size: number): Layout {
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
function tags(head: Buffer, size: number): Wanted[] {
  const atEnd = { from: Math.max(0, size - TAGS_AT_END), to: size };
  const tag = Math.min(tagLength(head), LONGEST_TAG, size);
  return tag === 0 ? [atEnd] : [{ from: 0, to: tag }, atEnd];
}

/** Each of the four bytes has seven bits. */
function tagLength(head: Buffer): number {
  if (head.toString('latin1', 0, 3) !== 'ID3') return 0;
  return 10 + head.subarray(6, 10).reduce((length, byte) => length * 128 + (byte & 127), 0);
}
