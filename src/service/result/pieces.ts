/**
 * A response in pieces: texts, and parts of outputs that are read from the compressed body when they are reached, so
 * that they are never held in memory.
 */
import type { Output } from '../../platform/bus/result_body.ts';
import { inflateOutputs, UnreadableResult, type Packed } from './inflate.ts';
import { escaped } from './outputs.ts';

/** Bytes of the outputs. */
export interface Span {
  from: number;
  to: number;
}
/** As they are, or as `escaped` bytes within a JSON string. */
type OutputPiece = Span & { escaped?: number };
export type Piece = string | OutputPiece;

/** An output as a JSON string. */
export const quoted = ({ from, to, escaped: length }: Output): Piece[] => ['"', { from, to, escaped: length }, '"'];

/** Part of an output, by positions within it. */
export const partOf = (output: Output, { from, to }: Span): Piece => ({
  from: output.from + from,
  to: output.from + to,
});
export const wholeOf = ({ from, to }: Output): Piece => ({ from, to });

/** The exact length in bytes. */
export const lengthOf = (pieces: readonly Piece[]): number =>
  pieces.reduce(
    (sum, piece) =>
      sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : (piece.escaped ?? piece.to - piece.from)),
    0,
  );

/** As a text if the outputs are in memory. */
export function joined(pieces: Piece[], outputs: Buffer | null): string | Piece[] {
  const texts = pieces.map((piece) => {
    if (typeof piece === 'string') return piece;
    if (!outputs) return null;
    const text = outputs.toString('utf8', piece.from, piece.to);
    return piece.escaped === undefined ? text : JSON.stringify(text).slice(1, -1);
  });
  return texts.includes(null) ? pieces : texts.join('');
}

/** Strings are sliced too, because the progress of a slow reader is measured in slices. */
const SLICE = 64 * 1024;

/**
 * Holds one slice at a time. Outputs in the order of the body are read in a single pass; any other order starts again.
 */
export async function* bytesOf(pieces: readonly Piece[], packed: Packed): AsyncGenerator<Buffer, void, undefined> {
  const reader = readerOf(() => inflateOutputs(packed));
  try {
    for (const piece of pieces) {
      if (typeof piece === 'string') {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length; at += SLICE) yield bytes.subarray(at, at + SLICE);
      } else if (piece.escaped === undefined) yield* reader.read(piece);
      else for await (const slice of reader.read(piece)) yield escaped(slice);
    }
  } finally {
    await reader.close();
  }
}

/** Reads the outputs of a body, in slices. `inflate`: from their beginning. */
export function readerOf(inflate: () => AsyncGenerator<Buffer, void, undefined>) {
  let slices: AsyncGenerator<Buffer, void, undefined> | undefined;
  /** Where `left` begins. */
  let at = 0;
  let left: Buffer = Buffer.alloc(0);

  const close = async (): Promise<void> => {
    await slices?.return();
    slices = undefined;
  };
  return {
    close,
    /** Whether anything follows what was read. */
    async more(): Promise<boolean> {
      return left.length > 0 || (slices !== undefined && (await slices.next()).done !== true);
    },
    async *read({ from, to }: Span): AsyncGenerator<Buffer, void, undefined> {
      if (from === to) return;
      if (slices === undefined || from < at) {
        await close();
        [slices, at, left] = [inflate(), 0, Buffer.alloc(0)];
      }
      for (;;) {
        const slice = left.subarray(Math.max(0, from - at), Math.max(0, to - at));
        // Data after the range may belong to the next one.
        if (at + left.length >= to) {
          const end = Math.max(0, to - at);
          [at, left] = [at + end, left.subarray(end)];
          if (slice.length > 0) yield slice;
          return;
        }
        at += left.length;
        left = Buffer.alloc(0);
        if (slice.length > 0) yield slice;
        const next = await slices.next();
        if (next.done) throw new UnreadableResult('it ends before its outputs do');
        left = next.value;
      }
    },
  };
}
