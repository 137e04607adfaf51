/** Fetches a segment's data like a player: its range and init section, decrypted. */
import { createDecipheriv } from 'node:crypto';
import { getOrMake } from '../../base/get_or_make.ts';
import type { Limits } from './limits.ts';
import type { Origin } from './origin.ts';
import type { ByteRange, InitSection, Key, Segment } from './playlist.ts';
import type { Note } from './rules/catalog.ts';

export type Format = 'ts' | 'fmp4' | 'audio' | 'webvtt';

export interface FetchedSegment {
  /** Transferred size of the segment alone. */
  bytes: number;
  /** Data to measure: with its init section, decrypted. Undefined if reading it requires DRM. */
  media: Buffer | undefined;
  format: Format | undefined;
}

export interface Reading {
  origin: Origin;
  base: string;
  limits: Limits;
  note: Note;
  signal: AbortSignal;
  /** Data shared by several segments. */
  keys: Map<string, Promise<Buffer | undefined>>;
  inits: Map<InitSection, Promise<Buffer | undefined>>;
}

const urlOf = (reference: string, base: string): string | undefined => {
  if (!URL.canParse(reference, base)) return undefined;
  const url = new URL(reference, base);
  url.username = '';
  url.password = '';
  url.hash = '';
  return /^(https?|data):$/.test(url.protocol) ? url.href : undefined;
};

async function fetchRange(
  reference: string,
  range: ByteRange | undefined,
  line: number,
  rule: 'segment-unreadable' | 'init-unreadable' | 'key-unreadable',
  { origin, base, limits, note, signal }: Reading,
  maxBytes = limits.segmentBytes,
): Promise<Buffer | undefined> {
  const url = urlOf(reference, base);
  if (url === undefined) {
    note(rule, line, 'its address cannot be followed');
    return undefined;
  }
  const wanted = range === undefined ? undefined : { from: range.offset ?? 0, length: range.length };
  const answer = await origin.fetch(url, { maxBytes, range: wanted, signal });
  if (answer.status === 416 && rule !== 'key-unreadable') note('segment-range', line);
  else if (answer.error !== undefined) {
    // A read aborted for lack of time says nothing about the segment.
    if (!signal.aborted) note(rule, line, answer.error);
  } else if (wanted !== undefined && answer.whole && answer.bytes.length < wanted.length)
    note('segment-range', line, `${answer.bytes.length} bytes of ${wanted.length}`);
  else return answer.bytes;
  return undefined;
}

export async function fetchSegment(segment: Segment, reading: Reading): Promise<FetchedSegment | undefined> {
  const bytes = await fetchRange(segment.uri, segment.range, segment.line, 'segment-unreadable', reading);
  if (bytes === undefined) return undefined;
  const clear = await decrypt(bytes, segment.keys, segment.line, segment.sequence, reading);
  if (clear === undefined) return { bytes: bytes.length, media: undefined, format: undefined };
  const format = formatOf(clear);
  if (format === undefined) {
    const encrypted = segment.keys.length > 0;
    reading.note(
      encrypted ? 'decryption' : 'segment-format',
      segment.line,
      encrypted ? 'the decrypted bytes are not media' : looksLike(clear),
    );
    return { bytes: bytes.length, media: undefined, format };
  }
  if (format !== 'fmp4' || segment.map === undefined) return { bytes: bytes.length, media: clear, format };
  const { map } = segment;
  const head = await getOrMake(reading.inits, map, () => fetchInit(map, reading));
  return { bytes: bytes.length, media: head === undefined ? undefined : Buffer.concat([head, clear]), format };
}

async function fetchInit(map: InitSection, reading: Reading): Promise<Buffer | undefined> {
  const { line } = map.tag;
  const bytes = await fetchRange(map.uri, map.range, line, 'init-unreadable', reading);
  if (bytes === undefined) return undefined;
  const clear = await decrypt(bytes, map.keys, line, 0n, reading);
  if (clear === undefined) return undefined;
  const boxes = boxesOf(clear);
  if (clear[0] === 0x47) return clear;
  if (!boxes.includes('moov'))
    reading.note(
      'init-format',
      line,
      boxes.length === 0 ? 'it has no boxes' : `its boxes are ${boxes.slice(0, 6).join(', ')}`,
    );
  else if (boxes.includes('moof')) reading.note('init-format', line, 'it has fragments');
  return clear;
}

/** Undefined if it cannot be decrypted, which has been noted. */
async function decrypt(
  bytes: Buffer,
  keys: readonly Key[],
  line: number,
  sequence: bigint,
  reading: Reading,
): Promise<Buffer | undefined> {
  if (keys.length === 0) return bytes;
  const key = keys.find(({ method, format }) => method === 'AES-128' && format === 'identity');
  if (key === undefined) {
    reading.note('encryption-unmeasured', keys[0]?.tag.line ?? line, keys.map(({ method }) => method).join(', '));
    return undefined;
  }
  const uri = key.uri ?? '';
  const value = await getOrMake(reading.keys, uri, () => fetchKey(uri, key, reading));
  if (value === undefined) return undefined;
  const iv = Buffer.alloc(16);
  if (key.iv === undefined) iv.writeBigUInt64BE(BigInt.asUintN(64, sequence), 8);
  else Buffer.from(key.iv.slice(2).padStart(32, '0').slice(-32), 'hex').copy(iv);
  try {
    const decipher = createDecipheriv('aes-128-cbc', value, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch {
    reading.note(
      'decryption',
      line,
      bytes.length % 16 === 0 ? 'its padding is wrong: another key or vector' : 'its length is not a multiple of 16',
    );
    return undefined;
  }
}

async function fetchKey(uri: string, { tag }: Key, reading: Reading): Promise<Buffer | undefined> {
  const bytes = await fetchRange(uri, undefined, tag.line, 'key-unreadable', reading, 1024);
  if (bytes === undefined || bytes.length === 16) return bytes;
  reading.note('key-length', tag.line, `${bytes.length} bytes`);
  return undefined;
}

const BOXES = new Set('ftyp styp moof moov sidx emsg prft mdat free skip uuid pssh meta'.split(' '));

function formatOf(bytes: Buffer): Format | undefined {
  if (bytes.length >= 188 && bytes[0] === 0x47 && (bytes.length < 377 || bytes[188] === 0x47)) return 'ts';
  if (BOXES.has(bytes.toString('latin1', 4, 8))) return 'fmp4';
  if (
    bytes.toString('latin1', 0, 3) === 'ID3' ||
    (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe0) === 0xe0) ||
    (bytes[0] === 0x0b && bytes[1] === 0x77)
  )
    return 'audio';
  return /^\ufeff?WEBVTT/.test(bytes.toString('utf8', 0, 32)) ? 'webvtt' : undefined;
}

const looksLike = (bytes: Buffer): string =>
  bytes.length === 0
    ? 'it is empty'
    : /^\s*</.test(bytes.toString('latin1', 0, 64))
      ? 'it is a page of HTML or XML'
      : `it begins with ${bytes.toString('hex', 0, 8)}`;

/** Types of the top-level boxes. */
function boxesOf(bytes: Buffer): string[] {
  const types: string[] = [];
  for (let at = 0; at + 8 <= bytes.length && types.length < 1_000;) {
    let size = bytes.readUInt32BE(at);
    if (size === 1 && at + 16 <= bytes.length) size = Number(bytes.readBigUInt64BE(at + 8));
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (!/^[\w \u00a9-]{4}$/.test(type)) break;
    types.push(type);
    if (size < 8) break;
    at += size;
  }
  return types;
}

/** Whether a packed audio segment has its first timestamp in an ID3 tag. */
export const hasAudioTimestamp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 3) === 'ID3' &&
  bytes.subarray(0, 4096).includes('com.apple.streaming.transportStreamTimestamp');
