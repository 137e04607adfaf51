/**
 * What a collector needs of a result: everything but long outputs, of which it learns only that they are there. Never
 * holds the whole.
 */
import type { ResultBody } from '../bus/messages.ts';
import { inflate, type Packed } from './inflate.ts';
import { LiftError, lifter } from './lift.ts';

export interface Skimmed {
  body: ResultBody;
  inflatedBytes: number;
}

/** Throws a LiftError where it is no zstd of at most so many bytes, or no JSON with outputs. */
export async function skimResult(packed: Packed, maxBytes?: number): Promise<Skimmed> {
  const lift = lifter((index) => `output ${index}`);
  let inflatedBytes = 0;
  for await (const slice of inflate(packed, maxBytes)) {
    inflatedBytes += slice.length;
    lift.push(slice);
  }
  const { text } = lift.end();
  try {
    return { body: JSON.parse(text) as ResultBody, inflatedBytes };
  } catch (error) {
    throw new LiftError('it cannot be read', { cause: error });
  }
}
