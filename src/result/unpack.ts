/**
 * Unpacks a stored result: the runner's ResultBody, compressed. Small ones are parsed as a whole; the long outputs of
 * larger ones stay in the body.
 */
import { randomUUID } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import type { ResultBody } from '../bus/messages.ts';
import { SECTIONS } from '../tools/table.ts';
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

/**
 * Top-level members that responses need: those that other sections could collide with, and the validator's
 * human-readable text.
 */
const WANTED: readonly string[] = [...SECTIONS, 'cli_output'];

/** Throws a LiftError if it is not a result. `size` null: unknown; then nothing is held. */
export async function unpackResult(packed: Packed, size: number | null): Promise<Unpacked> {
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
  const facts: TextFacts[] = [];
  const lift = lifter((index) => `${nonce}/${index}`, { observe: () => observer((text) => facts.push(text)) });
  const pace = Buffer.isBuffer(packed) ? undefined : packed.pace;
  for await (const slice of inflate(packed)) {
    const began = performance.now();
    lift.push(slice);
    await pace?.(performance.now() - began);
  }
  const { text, strings } = lift.end();
  return {
    result: JSON.parse(text) as ResultBody,
    long: new Map(strings.map((span, index) => [`${nonce}/${index}`, { ...span, text: facts[index]! }])),
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
