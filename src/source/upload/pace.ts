/** Reads a body that must not arrive too slowly: what is being sent holds a connection and room on a disk. */
import { within } from '../../base/retry.ts';

const LEAST_BYTES_PER_S = 64_000;
/** The rate counts over this time, in which the sender was waited for. */
const OVER_MS = 10_000;

export class TooSlow extends Error {}

export interface PaceOptions {
  overMs?: number;
  leastBytesPerS?: number;
}

const LATE = new Error('no piece in time');
function ifLate(error: unknown): undefined {
  if (error !== LATE) throw error;
}

export async function* paced(
  pieces: AsyncIterable<Buffer>,
  { overMs = OVER_MS, leastBytesPerS = LEAST_BYTES_PER_S }: PaceOptions = {},
): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]();
  let bytes = 0;
  let waitedMs = 0;
  const check = (): void => {
    if (waitedMs < overMs) return;
    if (bytes < (leastBytesPerS * waitedMs) / 1_000) throw new TooSlow('the file is sent too slowly');
    bytes = 0;
    waitedMs = 0;
  };
  for (;;) {
    const next = iterator.next();
    // It may fail when nobody waits for it any more.
    next.catch(() => {});
    let piece: IteratorResult<Buffer> | undefined;
    while (piece === undefined) {
      const begun = performance.now();
      piece = await within(Math.max(1, overMs - waitedMs), next, () => LATE).catch(ifLate);
      waitedMs += performance.now() - begun;
      if (piece === undefined) check();
    }
    if (piece.done) return;
    bytes += piece.value.length;
    check();
    yield piece.value;
  }
}
