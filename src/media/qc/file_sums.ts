/** Hashes of a file, and the checksums that its container keeps, while the file is read once from its beginning. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { MOST_WRONG_PAGES } from './limits.ts';
import type { QcChecksum } from './schema.ts';

type Sums = Omit<QcChecksum, 'stream'>;
interface Reader {
  push(bytes: Buffer): void;
  /** The file has no more bytes: what is open is not whole. */
  end(): void;
  sums: Sums;
}

const begunSums = (kind: QcChecksum['kind']): Sums => ({ kind, checked: 0, wrong: 0, first_wrong_byte: null });

function judge(sums: Sums, isRight: boolean, byte: number): void {
  sums.checked += 1;
  if (isRight) return;
  sums.wrong += 1;
  sums.first_wrong_byte ??= byte;
}

// Matroska: an element may begin with a CRC-32 of the rest of it.

/** EBML's head is one; the elements of the segment are entered. */
const SEGMENT = 0x18538067;
const CRC32_BYTES = 6;

/** How many bytes the number has whose first byte this is; 0: it is none. */
const widthOf = (first: number): number => (first === 0 ? 0 : Math.clz32(first) - 23);

/** The head of an element; undefined: more bytes are needed; null: these are none. */
function elementIn(bytes: Buffer): { id: number; head: number; size: number } | undefined | null {
  if (bytes.length < 2) return undefined;
  const wide = widthOf(bytes[0]!);
  if (wide === 0 || wide > 4) return null;
  if (bytes.length <= wide) return undefined;
  const long = widthOf(bytes[wide]!);
  if (long === 0) return null;
  if (bytes.length < wide + long) return undefined;
  const digits = [...bytes.subarray(wide, wide + long)];
  digits[0]! &= 0xff >> long;
  const isUnknown = digits.every((digit, at) => digit === (at === 0 ? 0xff >> long : 0xff));
  const size = isUnknown ? Infinity : digits.reduce((sum, digit) => sum * 256 + digit, 0);
  return { id: bytes.readUIntBE(0, wide), head: wide + long, size };
}

function matroskaReader(): Reader {
  const sums = begunSums('matroska-crc32');
  let held: Buffer = Buffer.alloc(0);
  let [at, isLost] = [0, false];
  /** The segment that the elements are in. */
  let segment = { from: 0, end: 0 };
  /** The element that is read: what is left of it, and its checksum. */
  let open: { left: number; from: number; wanted?: number; sum: number } | undefined;

  const skip = (count: number): void => {
    held = held.subarray(count);
    at += count;
  };
  /** False: more bytes are needed. */
  const begin = (): boolean => {
    const element = elementIn(held);
    if (element === undefined) return false;
    if (element === null) {
      isLost = true;
      if (sums.checked > 0) judge(sums, false, at);
      return false;
    }
    const { id, head, size } = element;
    // A live cluster has no size: its parts follow as those of the segment do.
    if (id === SEGMENT || size === Infinity) {
      if (id === SEGMENT && size !== Infinity) segment = { from: at, end: at + head + size };
      skip(head);
      return true;
    }
    if (size >= CRC32_BYTES && held.length < head + CRC32_BYTES) return false;
    const from = at;
    skip(head);
    const hasSum = size >= CRC32_BYTES && held[0] === 0xbf && held[1] === 0x84;
    open = { left: size, from, sum: 0, ...(hasSum ? { wanted: held.readUInt32LE(2) } : {}) };
    if (!hasSum) return true;
    skip(CRC32_BYTES);
    open.left -= CRC32_BYTES;
    return true;
  };
  const go = (): boolean => {
    if (!open) return begin();
    const part = held.subarray(0, open.left);
    if (open.wanted !== undefined) open.sum = crc32(part, open.sum);
    open.left -= part.length;
    skip(part.length);
    if (open.left > 0) return false;
    if (open.wanted !== undefined) judge(sums, open.sum === open.wanted, open.from);
    open = undefined;
    return true;
  };
  return {
    sums,
    push(bytes) {
      if (isLost) return;
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      while (go());
      // What is held belongs to the source, and is gone after this.
      held = isLost ? Buffer.alloc(0) : Buffer.from(held);
    },
    end() {
      const isWhole = open === undefined && held.length === 0 && at >= segment.end;
      if (isLost || isWhole || (open?.wanted === undefined && sums.checked === 0)) return;
      judge(sums, false, open?.from ?? (held.length > 0 ? at : segment.from));
    },
  };
}

// Ogg: each page has a CRC-32, of another polynomial and order of bits than that of zlib.

const OGG_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let sum = index << 24;
  for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1) ^ (sum < 0 ? 0x04c11db7 : 0);
  return sum >>> 0;
});
const PAGE_HEAD = 27;
const SUM_AT = 22;

function oggSum(page: Buffer): number {
  let sum = 0;
  for (let at = 0; at < page.length; at += 1) {
    const byte = at >= SUM_AT && at < SUM_AT + 4 ? 0 : page[at]!;
    sum = (sum << 8) ^ OGG_TABLE[((sum >>> 24) ^ byte) & 0xff]!;
  }
  return sum >>> 0;
}

function oggReader(): Reader {
  const sums = begunSums('ogg-crc32');
  let held: Buffer = Buffer.alloc(0);
  let [at, isSearching] = [0, false];
  /** Pages may be claimed at each few bytes, and each is summed. */
  const isOver = (): boolean => sums.wrong >= MOST_WRONG_PAGES;
  const skip = (count: number): void => {
    held = held.subarray(count);
    at += count;
  };
  /** False: more bytes are needed. */
  const go = (): boolean => {
    if (held.length < PAGE_HEAD) return false;
    if (held.toString('latin1', 0, 4) !== 'OggS') {
      // Once for what should have been a page: the search goes on from there.
      if (!isSearching) judge(sums, false, at);
      isSearching = true;
      const next = held.indexOf('OggS', 1, 'latin1');
      skip(next === -1 ? held.length - 3 : next);
      return next !== -1;
    }
    const segments = held[PAGE_HEAD - 1]!;
    if (held.length < PAGE_HEAD + segments) return false;
    const length = held.subarray(PAGE_HEAD, PAGE_HEAD + segments).reduce((sum, part) => sum + part, 0);
    const size = PAGE_HEAD + segments + length;
    if (held.length < size) return false;
    const isRight = oggSum(held.subarray(0, size)) === held.readUInt32LE(SUM_AT);
    judge(sums, isRight, at);
    // The length may be what is wrong.
    isSearching = !isRight;
    skip(isRight ? size : 4);
    return true;
  };
  return {
    sums,
    push(bytes) {
      if (isOver()) return;
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      while (!isOver() && go());
      held = isOver() ? Buffer.alloc(0) : Buffer.from(held);
    },
    end() {
      if (held.length > 0 && !isSearching) judge(sums, false, at);
    },
  };
}

const READERS: readonly [magic: string, make: () => Reader][] = [
  ['\x1a\x45\xdf\xa3', matroskaReader],
  ['OggS', oggReader],
];

/** `hashes`: those to make. */
export function fileSums(hashes: readonly ('sha256' | 'md5')[]) {
  const made = hashes.map((name) => [name, createHash(name)] as const);
  let [bytes, reader] = [0, undefined as Reader | undefined];
  /** Until it is known what the file is. */
  let first: Buffer | undefined = Buffer.alloc(0);
  return {
    push(piece: Buffer): void {
      bytes += piece.length;
      for (const [, hash] of made) hash.update(piece);
      if (first === undefined) return reader?.push(piece);
      first = Buffer.concat([first, piece]);
      if (first.length < 4) return;
      const begins = first.toString('latin1', 0, 4);
      reader = READERS.find(([magic]) => magic === begins)?.[1]();
      reader?.push(first);
      first = undefined;
    },
    /** `whole`: the file was read to its end. */
    told(whole: boolean) {
      if (whole) reader?.end();
      return {
        bytes,
        hashes: Object.fromEntries(made.map(([name, hash]) => [name, hash.digest('hex')])) as Partial<
          Record<'sha256' | 'md5', string>
        >,
        checksums: reader && reader.sums.checked > 0 ? [reader.sums] : [],
      };
    },
  };
}
