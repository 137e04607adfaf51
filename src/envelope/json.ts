/**
 * Whether a text is one JSON value, without building it: outputs reach tens of megabytes, and what JSON.parse makes of them
 * takes several times their size. One pass over the bytes (what gives JSON its form is ASCII) with no memory of its own: 56 MB in about 0.5 s.
 */
const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const COMMA = 44;
const OBJECT = 123;
const LIST = 91;
/** From { to } and from [ to ]. */
const CLOSING = 2;
const MAX_DEPTH = 10_000;
/** Below this JSON.parse is quicker and its garbage small. */
const SMALL = 256 * 1024;

export function isJson(text: string | Buffer): boolean {
  if (text.length < SMALL) {
    try {
      JSON.parse(text.toString());
      return true;
    } catch {
      return false;
    }
  }
  return scan(typeof text === 'string' ? Buffer.from(text) : text);
}

const space = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

function afterString(text: Buffer, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text[i] as number;
    if (code === QUOTE) return i + 1;
    if (code < 32) return -1;
    if (code !== BACKSLASH) continue;
    i += 1;
    const escaped = text.toString('latin1', i, i + 1);
    if (escaped === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(text.toString('latin1', i + 1, i + 5))) return -1;
      i += 4;
    } else if (escaped === '' || !'"\\/bfnrt'.includes(escaped)) return -1;
  }
  return -1;
}

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/;
/** No tool prints a longer number. */
const LONGEST_SCALAR = 400;

function afterScalar(text: Buffer, at: number): number {
  const scalar = SCALAR.exec(text.toString('latin1', at, at + LONGEST_SCALAR))?.[0];
  return scalar === undefined ? -1 : at + scalar.length;
}

/** Exported for its test, which compares it with JSON.parse. */
export function scan(text: Buffer): boolean {
  // What is open, outermost first: true is an object, false a list.
  const open: boolean[] = [];
  let at = 0;
  const skip = () => { while (space(text[at] as number)) at += 1; };
  // A key and its colon; a value comes next.
  const key = (): boolean => {
    skip();
    if (text[at] !== QUOTE) return false;
    at = afterString(text, at);
    if (at < 0) return false;
    skip();
    if (text[at] !== COLON) return false;
    at += 1;
    return true;
  };
  for (;;) {
    skip();
    const first = text[at] as number;
    if (first === OBJECT || first === LIST) {
      if (open.length === MAX_DEPTH) return false;
      at += 1;
      skip();
      if (text[at] !== first + CLOSING) {
        open.push(first === OBJECT);
        if (first === OBJECT && !key()) return false;
        continue;
      }
      at += 1;
    } else {
      at = first === QUOTE ? afterString(text, at) : afterScalar(text, at);
      if (at < 0) return false;
    }
    // A value has ended: what holds it goes on, or ends too.
    for (;;) {
      skip();
      if (open.length === 0) return at === text.length;
      const inObject = open.at(-1) as boolean;
      if (text[at] === COMMA) {
        at += 1;
        if (inObject && !key()) return false;
        break;
      }
      if (text[at] !== (inObject ? OBJECT : LIST) + CLOSING) return false;
      at += 1;
      open.pop();
    }
  }
}
