/**
 * Parses results with outputs of tens of megabytes without building these, because JSON.parse takes several times their
 * size. Long strings are lifted out of the JSON and replaced by short names; the rest is parsed normally.
 */
import { BACKSLASH, ENDS_RUN, QUOTE, type Span } from './json_scanner.ts';

const LOWER_U = 117;

/** Shorter strings stay in the JSON, error texts among them. */
const LONG = 256 * 1024;
/** Maximum size of a result without its long strings. Genuine results are far below it. */
const MOST_REST = 4 * 1024 * 1024;

export class LiftError extends Error {}

/** Receives the bytes of one long string, escaped as in the JSON. */
export interface Observer {
  push(escaped: Buffer): void;
  end(): void;
}

export interface Lifted {
  /** The JSON with each long string replaced by the result of `name`. */
  text: string;
  strings: Span[];
}

export interface LiftOptions {
  long?: number;
  observe?: (index: number) => Observer;
}

const isHex = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70);
/** Character for the letter after a backslash; 0: invalid. */
const ESCAPES = new Uint8Array(256);
for (const [letter, code] of Object.entries({ 34: 34, 92: 92, 47: 47, 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 }))
  ESCAPES[Number(letter)] = code;

/** Consumes pieces of a JSON text. `from` and `to` are byte offsets in it, without the quotes. */
export function lifter(name: (index: number) => string, { long = LONG, observe }: LiftOptions = {}) {
  const rest: Buffer[] = [];
  const strings: Span[] = [];
  let restBytes = 0;
  let offset = 0;
  let inString = false;
  let escaped = false;
  let hexLeft = 0;
  let held: Buffer[] = [];
  let observer: Observer | undefined;
  let length = 0;
  let from = 0;

  const keep = (bytes: Buffer): void => {
    restBytes += bytes.length;
    if (restBytes > MOST_REST) throw new LiftError('too much of it is no output');
    // Copied, because a view would keep its whole source buffer alive.
    rest.push(Buffer.from(bytes));
  };
  const hold = (bytes: Buffer): void => {
    length += bytes.length;
    if (length <= long) {
      held.push(Buffer.from(bytes));
      return;
    }
    if (length - bytes.length <= long) {
      observer = observe?.(strings.length);
      for (const part of held) observer?.push(part);
      held = [];
    }
    observer?.push(bytes);
  };

  /**
   * The end of the string or of the chunk. Invalid strings are rejected here, because no parser sees these bytes as a
   * whole.
   */
  const endOfString = (chunk: Buffer, at: number): number => {
    for (let end = at; end < chunk.length; end++) {
      if (hexLeft === 0 && !escaped) {
        // Fast path: most bytes are ordinary characters.
        while (end < chunk.length && ENDS_RUN[chunk[end]!] === 0) end += 1;
        if (end === chunk.length) break;
      }
      const code = chunk[end]!;
      if (hexLeft > 0) {
        if (!isHex(code)) throw new LiftError('a string contains an invalid escape');
        hexLeft -= 1;
      } else if (escaped) {
        if (code === LOWER_U) hexLeft = 4;
        else if (ESCAPES[code] === 0) throw new LiftError('a string contains an invalid escape');
        escaped = false;
      } else if (code === BACKSLASH) escaped = true;
      else if (code === QUOTE) return end;
      else if (code < 32) throw new LiftError('a string contains a control character');
    }
    return chunk.length;
  };

  return {
    push(chunk: Buffer): void {
      let at = 0;
      while (at < chunk.length) {
        if (!inString) {
          const quote = chunk.indexOf(QUOTE, at);
          keep(chunk.subarray(at, quote < 0 ? chunk.length : quote + 1));
          if (quote < 0) break;
          at = quote + 1;
          [inString, escaped, hexLeft, held, length, from] = [true, false, 0, [], 0, offset + at];
          continue;
        }
        const end = endOfString(chunk, at);
        hold(chunk.subarray(at, end));
        at = end;
        if (end === chunk.length) break;
        inString = false;
        at += 1;
        if (length > long) {
          observer?.end();
          observer = undefined;
          strings.push({ from, to: offset + end });
          keep(Buffer.from(`${name(strings.length - 1)}"`));
        } else {
          for (const part of held) keep(part);
          keep(chunk.subarray(end, at));
        }
      }
      offset += chunk.length;
    },
    end(): Lifted {
      if (inString) throw new LiftError('it ends inside a string');
      return { text: Buffer.concat(rest).toString(), strings };
    },
  };
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
const hexValue = (code: number): number => (code <= 57 ? code - 48 : (code | 32) - 87);

/** Unescapes a JSON string slice by slice. The lifter has validated the escapes. */
export function unescaper() {
  /**
   * Position within an escape at the end of the last slice: -1 none, 0 after the backslash, 1 to 4 the digits after the
   * u.
   */
  let state = -1;
  let unit = 0;
  /** A high surrogate; 0: none. Without its low surrogate it becomes U+FFFD. */
  let high = 0;

  /** Ends a character without a low surrogate. Like `write`, returns the next write position. */
  const lone = (out: Buffer, to: number): number => {
    if (high === 0) return to;
    high = 0;
    return write(out, to, 0xfffd);
  };

  return {
    push(escaped: Buffer): Buffer {
      if (state < 0 && high === 0 && !escaped.includes(BACKSLASH)) return escaped;
      // Room for a surrogate left over from the last slice.
      const out = Buffer.allocUnsafe(escaped.length + 4);
      let to = 0;
      for (let at = 0; at < escaped.length; at++) {
        if (state < 0 && high === 0) {
          // Fast path: most bytes are ordinary characters.
          while (at < escaped.length && escaped[at] !== BACKSLASH) out[to++] = escaped[at++]!;
          if (at === escaped.length) break;
        }
        const code = escaped[at]!;
        if (state > 0) {
          unit = (unit << 4) | hexValue(code);
          state = state === 4 ? -1 : state + 1;
          if (state > 0) continue;
          if (high !== 0 && isLow(unit)) {
            to = write(out, to, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
            high = 0;
            continue;
          }
          to = lone(out, to);
          if (isHigh(unit)) high = unit;
          else to = write(out, to, isLow(unit) ? 0xfffd : unit);
        } else if (state === 0) {
          if (code === LOWER_U) [state, unit] = [1, 0];
          else {
            to = lone(out, to);
            out[to++] = ESCAPES[code]!;
            state = -1;
          }
        } else if (code === BACKSLASH) state = 0;
        else {
          to = lone(out, to);
          out[to++] = code;
        }
      }
      return out.subarray(0, to);
    },
    end(): Buffer {
      const rest = Buffer.from(high === 0 ? '' : '\u{fffd}');
      high = 0;
      return rest;
    },
  };
}

/** Writes a character in UTF-8. Returns the next write position. */
function write(out: Buffer, to: number, point: number): number {
  if (point >= 0x10000) return put(out, to, 0xf0 | (point >> 18), point, 3);
  if (point >= 0x800) return put(out, to, 0xe0 | (point >> 12), point, 2);
  if (point >= 0x80) return put(out, to, 0xc0 | (point >> 6), point, 1);
  out[to] = point;
  return to + 1;
}

/** Writes the first byte of a character and its continuation bytes. */
function put(out: Buffer, to: number, first: number, point: number, more: number): number {
  out[to++] = first;
  for (let shift = 6 * (more - 1); shift >= 0; shift -= 6) out[to++] = 0x80 | ((point >> shift) & 0x3f);
  return to;
}
