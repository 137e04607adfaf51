/**
 * Unpacks a stored result: the runner's ResultBody, compressed. Small ones are parsed as a whole; the long outputs of
 * larger ones stay in the body.
 */
import { randomUUID } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { REPORT_MEMBERS, SECTIONS } from '../../media/tools/table.ts';
import { inflate, WINDOW, type Packed } from './inflate.ts';
import { jsonScanner, type JsonFacts, type Span } from './json_scanner.ts';
import { lifter, unescaper, type Observer } from './lift.ts';

/**
 * Inflated size up to which a result is held as a whole: inflated synchronously in 1 ms, because a turn of the thread
 * pool would take longer.
 */
export const WHOLE = 1024 * 1024;

export interface TextFacts {
  /** Size of the unescaped output. */
  bytes: number;
  /** Null: not a single JSON value. */
  json: JsonFacts | null;
}

/** An output that is not in memory: its position in the inflated body, escaped, without its quotes. */
export interface LongOutput extends Span {
  text: TextFacts;
}

/** By the name that replaces the output in the result. */
export type LongOutputs = ReadonlyMap<string, LongOutput>;

export interface Unpacked {
  result: ResultBody;
  long: LongOutputs;
}

export interface Lifted {
  result: ResultBody;
  /** Where the long outputs are, by the same names. */
  long: ReadonlyMap<string, Span>;
}

/** Top-level members that responses need: those that other sections could collide with, and those of envelopes. */
const WANTED: readonly string[] = [...SECTIONS, ...REPORT_MEMBERS];

/** Throws a LiftError if it is not a result. `size` null: unknown; then nothing is held. */
export async function unpackResult(packed: Packed, size: number | null): Promise<Unpacked> {
  const facts: TextFacts[] = [];
  const { result, long } = await lifted(packed, size, () => observer((text) => facts.push(text)));
  return { result, long: new Map([...long].map(([name, span], index) => [name, { ...span, text: facts[index]! }])) };
}

/** The same for answers that copy long outputs as they are: it takes half the time. */
export const liftResult = (packed: Packed, size: number | null): Promise<Lifted> => lifted(packed, size);

async function lifted(packed: Packed, size: number | null, observe?: () => Observer): Promise<Lifted> {
  if (size !== null && size <= WHOLE && Buffer.isBuffer(packed)) {
    return {
      result: JSON.parse(
        zstdDecompressSync(packed, { maxOutputLength: WHOLE, params: WINDOW }).toString(),
      ) as ResultBody,
      long: new Map(),
    };
  }
  // Unpredictable, so no text of a runner can equal such a name.
  const nonce = randomUUID();
  const nameOf = (index: number): string => `${nonce}/${index}`;
  const lift = lifter(nameOf, observe ? { observe } : {});
  const pace = Buffer.isBuffer(packed) ? undefined : packed.pace;
  for await (const slice of inflate(packed)) {
    const began = performance.now();
    lift.push(slice);
    await pace?.(performance.now() - began);
  }
  const { text, strings } = lift.end();
  return {
    result: JSON.parse(text) as ResultBody,
    long: new Map(strings.map((span, index) => [nameOf(index), span])),
  };
}

function observer(done: (text: TextFacts) => void): Observer {
  const plain = unescaper();
  const scanner = jsonScanner(WANTED);
  let bytes = 0;
  const take = (text: Buffer): void => {
    bytes += text.length;
    scanner.push(text);
  };
  return {
    push: (escaped) => take(plain.push(escaped)),
    end() {
      take(plain.end());
      done({ bytes, json: scanner.end() });
    },
  };
}
