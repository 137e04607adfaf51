/**
 * Results with outputs of tens of megabytes, without building them: what JSON.parse makes of such a text takes several times its size.
 * Long strings are lifted out of the JSON and stand in it as short names; everything else is parsed as always.
 */
const QUOTE = 34;
const BACKSLASH = 92;

/** Shorter ones stay: errors among them, whatever is in them. */
const LONG = 256 * 1024;
/** Of a result without its long strings. A result of ours is far below it. */
const MOST_REST = 8 * 1024 * 1024;

export class LiftError extends Error {}

export interface Lifted {
  /** The JSON, each long string replaced by what `name` gave for it. */
  text: string;
  strings: { from: number; to: number }[];
}

/** Feeds on pieces of a JSON text. `from` and `to` count bytes from its beginning, without the quotes. */
export function lifter(name: (index: number) => string, long = LONG) {
  const rest: Buffer[] = [];
  const strings: Lifted['strings'] = [];
  let restBytes = 0;
  let offset = 0;
  let inString = false;
  let escaped = false;
  let held: Buffer[] = [];
  let length = 0;
  let from = 0;

  const keep = (bytes: Buffer): void => {
    restBytes += bytes.length;
    if (restBytes > MOST_REST) throw new LiftError('too much of it is no output');
    // Of its own: a view would hold all that it was cut from.
    rest.push(Buffer.from(bytes));
  };
  const hold = (bytes: Buffer): void => {
    length += bytes.length;
    if (length <= long) held.push(Buffer.from(bytes));
    else held = [];
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
          [inString, escaped, held, length, from] = [true, false, [], 0, offset + at];
          continue;
        }
        let end = at;
        for (; end < chunk.length; end++) {
          const code = chunk[end] as number;
          if (escaped) escaped = false;
          else if (code === BACKSLASH) escaped = true;
          else if (code === QUOTE) break;
          else if (code < 32) throw new LiftError('a string holds a control character');
        }
        hold(chunk.subarray(at, end));
        at = end;
        if (end === chunk.length) break;
        inString = false;
        at += 1;
        if (length > long) {
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

const ESCAPES: Readonly<Record<number, number>> = { 34: 34, 92: 92, 47: 47, 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 };

/**
 * The text of a JSON string, in the place of its escaped form: it is never longer. What is no escape makes it null. Where the bytes are
 * no UTF-8, they come out as they are.
 */
export function unescapeInPlace(bytes: Buffer): Buffer | null {
  let to = bytes.indexOf(BACKSLASH);
  if (to < 0) return bytes;
  for (let at = to; at < bytes.length;) {
    const code = bytes[at] as number;
    if (code !== BACKSLASH) {
      bytes[to++] = code;
      at += 1;
      continue;
    }
    const escape = bytes[at + 1] as number;
    const plain = ESCAPES[escape];
    if (plain !== undefined) {
      bytes[to++] = plain;
      at += 2;
      continue;
    }
    // A pair of surrogates is one character: read together.
    const match = escape === 117 ? /^(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4})/.exec(bytes.toString('latin1', at, at + 12))?.[0] : undefined;
    if (match === undefined) return null;
    to += bytes.write(JSON.parse(`"${match}"`) as string, to);
    at += match.length;
  }
  return bytes.subarray(0, to);
}

const OPENING = [123, 91];
const CLOSING = [125, 93];

/** The names of an object's own members, of a text that is JSON. Null: it is no object. */
export function memberNames(json: Buffer): string[] | null {
  let at = 0;
  while (at < json.length && (json[at] as number) <= 32) at += 1;
  if (json[at] !== 123) return null;
  const names: string[] = [];
  let depth = 0;
  let key = true;
  for (; at < json.length; at++) {
    const code = json[at] as number;
    if (OPENING.includes(code)) depth += 1;
    else if (CLOSING.includes(code)) depth -= 1;
    else if (code === 44) key = depth === 1;
    else if (code === QUOTE) {
      const begin = at;
      for (at += 1; json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at += 1;
      if (depth === 1 && key) names.push(JSON.parse(json.toString('utf8', begin, at + 1)) as string);
      key = false;
    }
  }
  return names;
}
