/** A result as the record keeps it: the runner's ResultBody, compressed. */
import { promisify } from 'node:util';
import { zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { ResultBody } from '../bus/messages.ts';

/** Two tools at the agent's cap on their output, a report and the JSON around them: what collectors take, too. */
const MAX_INFLATED = 256 * 1024 * 1024;
/** Inflated at once: a turn of the thread pool would take longer. */
const SMALL = 64 * 1024;

const inflate = promisify(zstdDecompress);

export async function unpackResult(packed: Buffer): Promise<ResultBody> {
  const options = { maxOutputLength: MAX_INFLATED };
  const bytes = packed.length <= SMALL ? zstdDecompressSync(packed, options) : await inflate(packed, options);
  return JSON.parse(bytes.toString()) as ResultBody;
}
