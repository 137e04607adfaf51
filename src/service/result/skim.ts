/**
 * What a collector needs of a result: everything except long outputs, of which it only notes the presence. The result
 * is never held as a whole.
 */
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { inflate, type Packed } from './inflate.ts';
import { LiftError, lifter } from './lift.ts';

export interface Skimmed {
  body: ResultBody;
  inflatedBytes: number;
}

/** Throws a LiftError if it is not zstd of at most `maxBytes`, or not JSON with outputs. */
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
