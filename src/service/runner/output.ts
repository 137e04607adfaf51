/**
 * Tool output on its way out. It may reach tens of megabytes per tool, so it is decoded, redacted, embedded into the
 * result's JSON and compressed in pieces. As whole texts, two outputs of 38 MB made the agent peak at 600 MB.
 */
import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { createZstdCompress, zstdCompress, zstdCompressSync } from 'node:zlib';
import { CHUNK_BYTES, type Result, RESULT_PROTOCOL, type Side } from '../../platform/bus/messages.ts';
import type { ComparisonResult, ReportResult, ResultBody, ToolResult } from '../../platform/bus/result_body.ts';
import type { PackedResult } from '../../platform/bus/packing.ts';

/** A tool's result whose output is still in bytes and not redacted. */
export type RawToolResult = Omit<ToolResult, 'output'> & { output: Buffer | null };
export type RawBody = Omit<ResultBody, 'tools' | 'report' | 'comparison'> & {
  tools: RawToolResult[];
  /** Derived from redacted outputs. */
  comparison?: ComparisonResult;
  report?: Omit<ReportResult, 'output'> & { output: Buffer | null };
};

const PIECE = 1024 * 1024;
const LONGEST_LINE = 8 * PIECE;
/** Below this size a single call is faster than a stream. */
const SMALL = 256 * 1024;
/**
 * Compressed synchronously, in a few tenths of a millisecond: a turn of the thread pool takes longer, especially on a
 * busy node.
 */
const TINY = 64 * 1024;
const LINE_END = 10;

type Redact = (text: string) => string;
/** Of two sources, each text is redacted as that of its side. */
type SidedRedact = (text: string, side?: Side) => string;

/** More than an address or a secret of 8 kB takes in any of its spellings. */
const AROUND = 64 * 1024;
const BACK = 4099;
const MOST_TRIES = 32;

/**
 * Splits output at line ends, so that no address is split. A line longer than any tool prints is split where nothing is
 * redacted.
 */
export function* pieces(bytes: Buffer, redact: Redact): Generator<string> {
  const decoder = new StringDecoder('utf8');
  for (let at = 0; at < bytes.length;) {
    let end = Math.min(at + PIECE, bytes.length);
    if (end < bytes.length) {
      const lineEnd = bytes.lastIndexOf(LINE_END, end - 1);
      const next = lineEnd >= at ? lineEnd : bytes.indexOf(LINE_END, end);
      end = next === -1 ? bytes.length : next + 1;
      if (end > at + LONGEST_LINE) end = cutBefore(bytes, at + LONGEST_LINE, redact);
    }
    const text = decoder.write(bytes.subarray(at, end));
    if (text !== '') yield redact(text);
    at = end;
  }
  const rest = decoder.end();
  if (rest !== '') yield redact(rest);
}

/** Finds a position where both sides, redacted separately, equal the redaction of the whole: no secret spans it. */
function cutBefore(bytes: Buffer, limit: number, redact: Redact): number {
  for (let tries = 0, at = limit; tries < MOST_TRIES; tries++, at -= BACK) {
    const cut = characterStart(bytes, at);
    const [from, to] = [Math.max(0, characterStart(bytes, cut - AROUND)), Math.min(bytes.length, cut + AROUND)];
    const [before, after] = [bytes.toString('utf8', from, cut), bytes.toString('utf8', cut, to)];
    if (redact(before + after) === redact(before) + redact(after)) return cut;
  }
  // Hundreds of kilobytes of nothing but secrets, which only an origin that knows them could send.
  return limit;
}

function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > at - 4 && (bytes[start]! & 0xc0) === 0x80) start--;
  return start;
}

/** The JSON of a result body, in pieces. */
function* bodyText({ tools, report, ...rest }: RawBody, redact: SidedRedact): Generator<string> {
  yield '{"tools":[';
  for (const [index, tool] of tools.entries()) {
    if (index > 0) yield ',';
    yield* resultText(tool, (text) => redact(text, tool.side));
  }
  yield '],';
  if (report) {
    yield '"report":';
    yield* resultText(report, redact);
    yield ',';
  }
  yield JSON.stringify(rest).slice(1);
}

function* resultText({ output, ...result }: { output: Buffer | null }, redact: Redact): Generator<string> {
  yield `${JSON.stringify(result).slice(0, -1)},"output":`;
  if (output === null) yield 'null}';
  else {
    yield '"';
    for (const piece of pieces(output, redact)) yield JSON.stringify(piece).slice(1, -1);
    yield '"}';
  }
}

const compress = promisify(zstdCompress);

export async function packBody(
  body: RawBody,
  redact: SidedRedact,
  of: Pick<Result, 'job' | 'attempt' | 'epoch' | 'podUid'>,
): Promise<PackedResult> {
  const { tools, report, timeline } = body;
  const bytes = [...tools, ...(report ? [report] : []), ...(timeline ? [timeline] : [])].reduce(
    (sum, { output }) => sum + (output?.length ?? 0),
    0,
  );
  const { packed, size } =
    bytes < SMALL ? await packSmall(bodyText(body, redact)) : await packLarge(bodyText(body, redact));
  const chunks: Buffer[] = [];
  if (packed.length > CHUNK_BYTES)
    for (let at = 0; at < packed.length; at += CHUNK_BYTES) chunks.push(packed.subarray(at, at + CHUNK_BYTES));
  const header: Result = {
    protocol: RESULT_PROTOCOL,
    ...of,
    encoding: 'zstd',
    size,
    sha256: createHash('sha256').update(packed).digest('hex'),
    chunks: chunks.length,
  };
  if (chunks.length === 0) header.inline = packed.toString('base64');
  return { header, chunks };
}

async function packSmall(texts: Iterable<string>): Promise<{ packed: Buffer; size: number }> {
  const text = Buffer.from([...texts].join(''));
  return { packed: text.length <= TINY ? zstdCompressSync(text) : await compress(text), size: text.length };
}

async function packLarge(texts: Iterable<string>): Promise<{ packed: Buffer; size: number }> {
  const stream = createZstdCompress();
  const out: Buffer[] = [];
  stream.on('data', (bytes: Buffer) => out.push(bytes));
  const ended = Promise.withResolvers<void>();
  stream.on('end', ended.resolve).on('error', ended.reject);
  let size = 0;
  for (const text of texts) {
    const bytes = Buffer.from(text);
    size += bytes.length;
    // Each piece is compressed before the next one is produced; heartbeats are sent in between.
    await new Promise<void>((resolve, reject) => {
      stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }
  stream.end();
  await ended.promise;
  return { packed: Buffer.concat(out), size };
}
