/**
 * Request ids: UUIDv7, whose first 48 bits are the submission time in milliseconds, so an id alone selects its
 * partition.
 */
import { randomFillSync } from 'node:crypto';

/** The last byte of an id that is of no chunk is at least this. */
const FIRST_OF_OTHERS = 0x80;

export function uuidv7(epochMs: number): string {
  const bytes = Buffer.alloc(16);
  randomFillSync(bytes, 6);
  bytes.writeUIntBE(Math.floor(epochMs), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  // Lower ones are those of chunks.
  bytes[15] = (bytes[15] ?? 0) | FIRST_OF_OTHERS;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

/** The time in a UUIDv7; null for other ids (a job created by hand is identified by its metadata.uid, a UUIDv4). */
export function timeOf(id: string): Date | null {
  if (UUID.exec(id)?.[1] !== '7') return null;
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

// A chunk is one ProbeJob for several requests of a batch, at most MOST_OF_CHUNK. Their ids and its name differ in the
// last byte alone, so each is known from the others.

const withLast = (id: string, byte: number): string => `${id.slice(0, -2)}${byte.toString(16).padStart(2, '0')}`;

/** The name of a new chunk, from a new id. */
export const chunkFrom = (id: string): string => withLast(id, 0);
/** `place`: from 1. */
export const requestOfChunk = (chunk: string, place: number): string => withLast(chunk, place);
export const placeInChunk = (id: string): number => Number.parseInt(id.slice(-2), 16);

/** The chunk that a request may be of; undefined if it certainly is of none. */
export const chunkOf = (id: string): string | undefined =>
  timeOf(id) !== null && placeInChunk(id) < FIRST_OF_OTHERS ? withLast(id, 0) : undefined;
