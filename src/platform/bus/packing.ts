/** Encoding of a result: JSON, compressed, inline if small, otherwise in chunks that are sent before their header. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { BusError } from './errors.ts';
import { CHUNK_BYTES, type Result, RESULT_PROTOCOL } from './messages.ts';
import type { ResultBody } from './result_body.ts';

const compress = promisify(zstdCompress);
const inflate = promisify(zstdDecompress);
/** Inflated synchronously: a turn of the thread pool would take longer. */
const SMALL = 64 * 1024;
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export interface PackedResult {
  header: Result;
  chunks: Buffer[];
}

export async function packResult(
  body: ResultBody,
  of: Pick<Result, 'job' | 'attempt' | 'epoch' | 'podUid'>,
): Promise<PackedResult> {
  const text = Buffer.from(JSON.stringify(body));
  const packed = await compress(text);
  const chunks: Buffer[] = [];
  if (packed.length > CHUNK_BYTES)
    for (let at = 0; at < packed.length; at += CHUNK_BYTES) chunks.push(packed.subarray(at, at + CHUNK_BYTES));
  const header: Result = {
    protocol: RESULT_PROTOCOL,
    ...of,
    encoding: 'zstd',
    size: text.length,
    sha256: digest(packed),
    chunks: chunks.length,
  };
  if (chunks.length === 0) header.inline = packed.toString('base64');
  return { header, chunks };
}

/** The compressed body, verified against its header, as stored in Postgres. */
export function joinResult(header: Result, chunks: Uint8Array[]): Buffer {
  const packed = header.chunks === 0 ? Buffer.from(header.inline ?? '', 'base64') : Buffer.concat(chunks);
  if (digest(packed) !== header.sha256)
    throw new BusError(
      'bad-result',
      `${header.job}/${header.attempt}: the body does not match the checksum in its header`,
    );
  return packed;
}

/** A runner may be compromised: inflates neither beyond `maxBytes` nor beyond the size declared in the header. */
export async function unpackBody(packed: Uint8Array, maxBytes: number, declared = maxBytes): Promise<ResultBody> {
  if (declared > maxBytes)
    throw new BusError('bad-result', `a body of ${declared} bytes is over the limit of ${maxBytes}`);
  let text: Buffer;
  try {
    const limit = { maxOutputLength: Math.max(1, declared) };
    text = declared <= SMALL ? zstdDecompressSync(packed, limit) : await inflate(packed, limit);
  } catch (error) {
    throw new BusError('bad-result', 'the body cannot be inflated within its declared size', { cause: error });
  }
  try {
    return JSON.parse(text.toString()) as ResultBody;
  } catch (error) {
    throw new BusError('bad-result', 'the body is not valid JSON', { cause: error });
  }
}
