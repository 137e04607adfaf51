/**
 * A response in pieces: texts, and parts of long outputs that are read from the compressed body when they are reached.
 */
import { inflate, type Packed } from './inflate.ts';
import type { Span } from './json_scanner.ts';
import { unescaper } from './lift.ts';
import type { LongOutput } from './unpack.ts';

/** `escaped`: as in the body, a JSON string without its quotes. `text`: bytes of the output itself. */
export type OutputPiece = { output: Span; as: 'escaped' } | ({ output: LongOutput; as: 'text' } & Span);
export type Piece = string | OutputPiece;

export const escaped = (output: Span): OutputPiece => ({ output, as: 'escaped' });
export const textOf = (output: LongOutput, { from = 0, to = output.text.bytes }: Partial<Span> = {}): OutputPiece => ({
  output,
  as: 'text',
  from,
  to,
});

/** The exact length in bytes. */
export const lengthOf = (pieces: readonly Piece[]): number =>
  pieces.reduce(
    (sum, piece) =>
      sum +
      (typeof piece === 'string'
        ? Buffer.byteLength(piece)
        : piece.as === 'text'
          ? piece.to - piece.from
          : piece.output.to - piece.output.from),
    0,
  );

/** Strings are sliced too, because the progress of a slow reader is measured in slices. */
const SLICE = 64 * 1024;

/**
 * Holds one slice at a time. Outputs in the order of the body are read in a single pass; any other order starts again.
 */
export async function* bytesOf(pieces: readonly Piece[], packed: Packed): AsyncGenerator<Buffer, void, undefined> {
  const body = bodyReader(packed);
  try {
    for (const piece of pieces) {
      if (typeof piece === 'string') {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length; at += SLICE) yield bytes.subarray(at, at + SLICE);
      } else if (piece.as === 'escaped') yield* body.read(piece.output);
      else yield* cut(unescaped(body.read(piece.output)), piece);
    }
  } finally {
    await body.close();
  }
}

async function* unescaped(slices: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const plain = unescaper();
  for await (const slice of slices) yield plain.push(slice);
  yield plain.end();
}

async function* cut(slices: AsyncIterable<Buffer>, { from, to }: Span): AsyncGenerator<Buffer, void, undefined> {
  let at = 0;
  for await (const slice of slices) {
    const wanted = slice.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (wanted.length > 0) yield wanted;
    at += slice.length;
    if (at >= to) return;
  }
}

function bodyReader(packed: Packed) {
  let slices: AsyncGenerator<Buffer, void, undefined> | undefined;
  /** Offset of `left` in the inflated body. */
  let at = 0;
  let left: Buffer = Buffer.alloc(0);

  const close = async (): Promise<void> => {
    await slices?.return();
    slices = undefined;
  };
  return {
    close,
    async *read({ from, to }: Span): AsyncGenerator<Buffer, void, undefined> {
      if (slices === undefined || from < at) {
        await close();
        [slices, at, left] = [inflate(packed), 0, Buffer.alloc(0)];
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
        if (next.done) throw new Error('the body ends before the output');
        left = next.value;
      }
    },
  };
}
