/**
 * Encoding of a result's body: the length of the packed head in four bytes, the head as JSON, and the outputs one after
 * the other, as the tools printed them. Head and outputs are compressed apart, so that the head can be read alone, and
 * written when the length of each output is known. Sent inline if small, otherwise in chunks before their header.
 */
import { createHash } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { BusError } from './errors.ts';
import { CHUNK_BYTES, type Result, RESULT_PROTOCOL } from './messages.ts';
import type { Output, ResultBody } from './result_body.ts';

/**
 * Maximum inflated size of a body, for collectors and responses: two tools at the agent's output limit, a report and
 * the head. It also protects against a compromised runner.
 */
export const RESULT_BYTES = 256 * 1024 * 1024;
/** Maximum size of a head. Genuine ones are far below it. */
export const HEAD_BYTES = 4 * 1024 * 1024;
/** Outputs of more than this together are never held: their head says what an answer needs to know of them. */
export const LONG = 256 * 1024;
/** The length of the packed head. */
export const LENGTH_BYTES = 4;

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export interface PackedBody {
  packed: Buffer;
  /** Inflated, head and outputs. */
  size: number;
}

/** `outputs`: compressed, in pieces, and how many bytes they are inflated. */
export function packBody(head: ResultBody, outputs?: { packed: readonly Buffer[]; bytes: number }): PackedBody {
  const text = Buffer.from(JSON.stringify(head));
  const packed = zstdCompressSync(text);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(packed.length);
  return {
    packed: Buffer.concat([length, packed, ...(outputs?.packed ?? [])]),
    size: text.length + (outputs?.bytes ?? 0),
  };
}

/** The outputs that a head names, in the order in which they stand behind it. */
export const outputsOf = ({
  tools,
  report,
  timeline,
  pictures,
  listing,
}: ResultBody): { output: Output; isJson: boolean }[] => [
  ...[...tools, ...(report ? [report] : [])].flatMap(({ output, format }) =>
    output ? [{ output, isJson: format === 'json' }] : [],
  ),
  ...[timeline?.output, pictures?.output, listing?.output].flatMap((output) =>
    output ? [{ output, isJson: true }] : [],
  ),
];

export interface PackedResult {
  header: Result;
  chunks: Buffer[];
}

export function resultMessage(
  { packed, size }: PackedBody,
  of: Pick<Result, 'job' | 'attempt' | 'epoch' | 'podUid'>,
): PackedResult {
  const chunks: Buffer[] = [];
  if (packed.length > CHUNK_BYTES)
    for (let at = 0; at < packed.length; at += CHUNK_BYTES) chunks.push(packed.subarray(at, at + CHUNK_BYTES));
  const header: Result = {
    protocol: RESULT_PROTOCOL,
    ...of,
    encoding: 'zstd',
    size,
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
