/**
 * Tool output on its way out. It may reach tens of megabytes per tool, so it is decoded, redacted, described for the
 * result's head and compressed in pieces. As whole texts, two outputs of 38 MB made the agent peak at 600 MB.
 */
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { createZstdCompress, zstdCompress, zstdCompressSync } from 'node:zlib';
import type { Result, Side } from '../../platform/bus/messages.ts';
import { LONG, packBody, resultMessage, type PackedResult } from '../../platform/bus/packing.ts';
import type { ReportResult, ResultBody, TimelineResult, ToolResult } from '../../platform/bus/result_body.ts';
import { foundIn, hasShapes, scanOutput, type FoundOutput } from '../result/outputs.ts';

type Raw<R> = Omit<R, 'output'> & { output: Buffer | null };
/** A tool's result whose output is still in bytes and not redacted. */
export type RawToolResult = Raw<ToolResult> & {
  /** What it said of damaged media although it succeeded. For the report: the result does not have it. */
  damage?: string;
};
export type RawReport = Raw<ReportResult>;
export type RawTimeline = Raw<TimelineResult>;
/** `report` and `timeline` are derived from redacted outputs. */
export type RawBody = Omit<ResultBody, 'tools' | 'report' | 'timeline' | 'pictures' | 'listing'> & {
  tools: RawToolResult[];
  report?: RawReport;
  timeline?: RawTimeline;
  /** QcPictures as JSON: nothing in it can be redacted. */
  pictures?: Buffer;
  /** Listed as JSON. */
  listing?: Buffer;
};

const PIECE = 1024 * 1024;
const LONGEST_LINE = 8 * PIECE;
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

const compress = promisify(zstdCompress);

interface Outgoing {
  output: Buffer;
  /** Its tool was to print JSON. */
  asJson: boolean;
  redact: Redact;
}

interface WrittenOutputs {
  found: FoundOutput[];
  packed: Buffer[];
  bytes: number;
}

const lengthOf = (outputs: readonly Buffer[]): number => outputs.reduce((sum, { length }) => sum + length, 0);

/** Null if they are long once addresses are restored. */
async function writeShort(outgoing: readonly Outgoing[]): Promise<WrittenOutputs | null> {
  const texts = outgoing.map(({ output, redact }) => Buffer.from([...pieces(output, redact)].join('')));
  const bytes = lengthOf(texts);
  if (hasShapes(bytes)) return null;
  let at = 0;
  const found = texts.map((text, index) => {
    const one = foundIn(text, at, outgoing[index]!.asJson);
    at = one.output.to;
    return one;
  });
  const all = Buffer.concat(texts);
  const packed = bytes === 0 ? [] : [bytes <= TINY ? zstdCompressSync(all) : await compress(all)];
  return { found, packed, bytes };
}

/** Each piece is compressed before the next one is produced; heartbeats are sent in between. */
async function writeLong(outgoing: readonly Outgoing[]): Promise<WrittenOutputs> {
  const stream = createZstdCompress();
  const packed: Buffer[] = [];
  stream.on('data', (bytes: Buffer) => packed.push(bytes));
  const ended = Promise.withResolvers<void>();
  stream.on('end', ended.resolve).on('error', ended.reject);
  const found: FoundOutput[] = [];
  let at = 0;
  for (const { output, asJson, redact } of outgoing) {
    const scan = scanOutput(at, asJson);
    for (const piece of pieces(output, redact)) {
      const bytes = Buffer.from(piece);
      scan.push(bytes);
      await new Promise<void>((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
    }
    const one = scan.end();
    at = one.output.to;
    found.push(one);
  }
  stream.end();
  await ended.promise;
  return { found: hasShapes(at) ? found : found.map(withoutShape), packed, bytes: at };
}

const withoutShape = ({ output: { from, to, escaped }, isJson }: FoundOutput): FoundOutput => ({
  output: { from, to, escaped },
  isJson,
});

export async function packResult(
  { tools, report, timeline, pictures, listing, ...rest }: RawBody,
  redact: SidedRedact,
  of: Pick<Result, 'job' | 'attempt' | 'epoch' | 'podUid'>,
): Promise<PackedResult> {
  const results = [...tools, ...(report ? [report] : [])];
  const outgoing = results.flatMap(({ output, format, ...result }): Outgoing[] => {
    const side = 'side' in result ? result.side : undefined;
    return output ? [{ output, asJson: format === 'json', redact: (text) => redact(text, side) }] : [];
  });
  for (const output of [timeline?.output, pictures, listing])
    if (output) outgoing.push({ output, asJson: true, redact: (text) => text });
  const isShort = lengthOf(outgoing.map(({ output }) => output)) <= LONG;
  const written = (isShort ? await writeShort(outgoing) : null) ?? (await writeLong(outgoing));
  const found = written.found.values();
  // What is not JSON, although its tool was to print some, is text: the output of a failed tool may be cut off.
  const described = <R extends Pick<RawToolResult, 'format' | 'output'>>(result: R) => {
    if (!result.output) return { ...result, output: null };
    const { output, isJson } = found.next().value!;
    return { ...result, format: isJson ? ('json' as const) : ('text' as const), output };
  };
  const head: ResultBody = {
    tools: tools.map((result) => {
      const { damage: _, ...tool } = result;
      return described(tool);
    }),
    ...(report ? { report: described(report) } : {}),
    ...(timeline ? { timeline: { ...timeline, output: timeline.output && found.next().value!.output } } : {}),
    ...(pictures ? { pictures: { output: found.next().value!.output } } : {}),
    ...(listing ? { listing: { output: found.next().value!.output } } : {}),
    ...rest,
  };
  return resultMessage(packBody(head, written), of);
}
