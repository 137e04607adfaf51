/**
 * The inflated body of a result, in slices: a body may have 256 MB, and is never held as a whole. Each slice is
 * well-formed UTF-8, split between characters, and is delivered in its own turn of the event loop.
 */
import { isAscii } from 'node:buffer';
import { constants, createZstdDecompress, type ZstdDecompress } from 'node:zlib';
import { RESULT_BYTES } from '../../platform/bus/result_body.ts';
import { LiftError } from './lift.ts';
import type { Pace } from './pace.ts';

/** A compressed body: in memory, or readable from its beginning as often as needed. */
export type Packed = Buffer | PackedSlices;

export interface PackedSlices {
  (): AsyncIterable<Buffer> | Iterable<Buffer>;
  /** For background reads: the share of a core that they may use. */
  pace?: Pace;
}

/** Scanning a slice takes less than a millisecond. */
const SLICE = 64 * 1024;
/** Measured: 190 to 540 MB/s on one core. */
const INFLATED_PER_MS = 250_000;
/** Agents compress with a window of 2 MB. A frame may request 128 MB, which the decoder would allocate. */
export const WINDOW = { [constants.ZSTD_d_windowLogMax]: 22 };

/** Throws a LiftError if the body is not zstd, or inflates to more than `maxBytes`. */
export async function* inflate(packed: Packed, maxBytes = RESULT_BYTES): AsyncGenerator<Buffer, void, undefined> {
  const stream = createZstdDecompress({ chunkSize: SLICE, params: WINDOW });
  let failure: unknown;
  const feeding = feed(packed, stream).catch((error: unknown) => {
    failure = error;
    stream.destroy(error as Error);
  });
  const pace = Buffer.isBuffer(packed) ? undefined : packed.pace;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let decoding = false;
  let total = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > maxBytes) throw new LiftError('it is larger than declared');
      decoding ||= !isAscii(chunk);
      // Invalid sequences become U+FFFD, independently of chunk boundaries.
      const slice = decoding ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk;
      if (slice.length > 0) yield slice;
      await pace?.(chunk.length / INFLATED_PER_MS);
    }
    const rest = decoder.decode();
    if (rest !== '') yield Buffer.from(rest);
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw error instanceof LiftError ? error : new LiftError('it cannot be inflated', { cause: error });
  } finally {
    stream.destroy();
    await feeding;
  }
}

async function feed(packed: Packed, stream: ZstdDecompress): Promise<void> {
  if (Buffer.isBuffer(packed)) return void stream.end(packed);
  for await (const piece of packed()) {
    if (stream.destroyed) return;
    if (!stream.write(piece)) await drained(stream);
  }
  stream.end();
}

/** Also once the stream is closed. Leaves no listener behind: a body has thousands of pieces. */
const drained = (stream: ZstdDecompress): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close']) stream.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close']) stream.on(event, done);
  });

const MAGIC = 0xfd2fb528;

/** The inflated size in the frame header; null if absent. RFC 8878, 3.1.1.1. */
export function declaredSize(packed: Buffer): number | null {
  if (packed.length < 18 || packed.readUInt32LE(0) !== MAGIC) return null;
  const descriptor = packed[4]!;
  const singleSegment = (descriptor & 0x20) !== 0;
  const at = 5 + (singleSegment ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!;
  switch (descriptor >> 6) {
    case 0:
      return singleSegment ? packed[at]! : null;
    case 1:
      return packed.readUInt16LE(at) + 256;
    case 2:
      return packed.readUInt32LE(at);
    default:
      return Number(packed.readBigUInt64LE(at));
  }
}
