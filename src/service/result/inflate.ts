/**
 * Reads a packed body (src/platform/bus/packing.ts): its head as a whole, its outputs in slices. Outputs may have 256
 * MB together and are never held. Each slice comes in its own turn of the event loop.
 */
import { constants, createZstdDecompress, zstdDecompressSync, type ZstdDecompress } from 'node:zlib';
import { HEAD_BYTES, LENGTH_BYTES, RESULT_BYTES } from '../../platform/bus/packing.ts';
import type { Pace } from './pace.ts';

/** A compressed body: in memory, or readable from its beginning as often as needed. */
export type Packed = Buffer | PackedSlices;

export interface PackedSlices {
  (): AsyncIterable<Buffer> | Iterable<Buffer>;
  /** For background reads: the share of a core that they may use. */
  pace?: Pace;
}

/** A body that is not in the form of a result. */
export class UnreadableResult extends Error {}

/** Scanning a slice takes less than a millisecond. */
const SLICE = 64 * 1024;
/** Measured: 190 to 540 MB/s on one core. */
const INFLATED_PER_MS = 250_000;
/** Agents compress with a window of 2 MB. A frame may request 128 MB, which the decoder would allocate. */
const WINDOW = { [constants.ZSTD_d_windowLogMax]: 22 };

const slicesOf = (packed: Packed): AsyncIterable<Buffer> | Iterable<Buffer> =>
  Buffer.isBuffer(packed) ? [packed] : packed();

/** Position behind the packed head; undefined: not enough of it has been read to know. */
function endOfHead(begin: Buffer): number | undefined {
  if (begin.length < LENGTH_BYTES) return undefined;
  const length = begin.readUInt32LE();
  if (length > HEAD_BYTES) throw new UnreadableResult('its head is longer than a head may be');
  return LENGTH_BYTES + length;
}

/** The JSON of the head. */
export async function inflateHead(packed: Packed): Promise<Buffer> {
  let begin: Buffer = Buffer.alloc(0);
  for await (const slice of slicesOf(packed)) {
    begin = begin.length === 0 ? slice : Buffer.concat([begin, slice]);
    const end = endOfHead(begin);
    if (end !== undefined && begin.length >= end) return inflateWhole(begin.subarray(LENGTH_BYTES, end), HEAD_BYTES);
  }
  throw new UnreadableResult('it ends before its head does');
}

/** Outputs of a body in memory, `bytes` together. */
export function inflateShort(packed: Buffer, bytes: number): Buffer {
  const part = packed.subarray(endOfHead(packed));
  const outputs = part.length === 0 ? part : inflateWhole(part, Math.max(1, bytes));
  if (outputs.length !== bytes) throw new UnreadableResult('its outputs are not as long as its head says');
  return outputs;
}

function inflateWhole(part: Buffer, maxOutputLength: number): Buffer {
  try {
    return zstdDecompressSync(part, { maxOutputLength, params: WINDOW });
  } catch (error) {
    throw new UnreadableResult('it cannot be inflated', { cause: error });
  }
}

/** Throws an UnreadableResult if the outputs are longer than `maxBytes`. */
export async function* inflateOutputs(
  packed: Packed,
  maxBytes = RESULT_BYTES,
): AsyncGenerator<Buffer, void, undefined> {
  const stream = createZstdDecompress({ chunkSize: SLICE, params: WINDOW });
  let failure: unknown;
  const feeding = feed(packed, stream).catch((error: unknown) => {
    failure = error;
    stream.destroy(error as Error);
  });
  const pace = Buffer.isBuffer(packed) ? undefined : packed.pace;
  let total = 0;
  try {
    for await (const slice of stream as AsyncIterable<Buffer>) {
      total += slice.length;
      if (total > maxBytes) throw new UnreadableResult('its outputs are longer than its head says');
      yield slice;
      await pace?.(slice.length / INFLATED_PER_MS);
    }
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw error instanceof UnreadableResult ? error : new UnreadableResult('it cannot be inflated', { cause: error });
  } finally {
    stream.destroy();
    await feeding;
  }
}

async function feed(packed: Packed, stream: ZstdDecompress): Promise<void> {
  let begin: Buffer | undefined = Buffer.alloc(0);
  for await (const slice of slicesOf(packed)) {
    if (stream.destroyed) return;
    let piece: Buffer = slice;
    if (begin) {
      begin = begin.length === 0 ? slice : Buffer.concat([begin, slice]);
      const end = endOfHead(begin);
      if (end === undefined || begin.length < end) continue;
      piece = begin.subarray(end);
      begin = undefined;
    }
    if (piece.length > 0 && !stream.write(piece)) await drained(stream);
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
