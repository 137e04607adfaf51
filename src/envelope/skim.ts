/** What a collector needs of a result: everything but long outputs, of which it learns only that they are there. Never holds the whole. */
import { createZstdDecompress } from 'node:zlib';
import type { ResultBody } from '../bus/messages.ts';
import { LiftError, lifter } from './lift.ts';

/** Throws a LiftError where it is no zstd of at most so many bytes, or no JSON with outputs. */
export async function skimResult(packed: Buffer, maxBytes: number): Promise<ResultBody> {
  const lift = lifter((index) => `output ${index}`);
  const stream = createZstdDecompress();
  let total = 0;
  try {
    stream.end(packed);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > maxBytes) throw new LiftError('it is larger than declared');
      lift.push(chunk);
    }
    return JSON.parse(lift.end().text) as ResultBody;
  } catch (error) {
    throw error instanceof LiftError ? error : new LiftError('it cannot be read', { cause: error });
  } finally {
    stream.destroy();
  }
}
