/**
 * Parses a caller's JSON within bounds that are checked before anything is built. A repeated name in one object is
 * refused: JSON.parse would use the last value, another reader the first.
 */

export interface JsonBounds {
  /** Objects and lists within one another. */
  depth: number;
  /** Names of members count, too. */
  values: number;
}

export const JSON_BOUNDS: JsonBounds = { depth: 64, values: 10_000 };

/** Bounds of all JSON of one input, and what it has used of them. */
export type JsonBudget = JsonBounds & { used: number };

/** Valid JSON that is not accepted. */
export class JsonRefused extends Error {
  readonly repeated: string | undefined;
  constructor(message: string, repeated?: string) {
    super(message);
    this.name = 'JsonRefused';
    this.repeated = repeated;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const BACKSLASH = 0x5c;
const END_OF_LIST = 0x5d;
const OBJECT = 0x7b;
const END_OF_OBJECT = 0x7d;

/** Throws SyntaxError and JsonRefused. */
export function parseJson(text: string, budget: JsonBudget): unknown {
  const repeated = scan(text, budget);
  const value: unknown = JSON.parse(text);
  if (repeated !== undefined) throw new JsonRefused('is given more than once', repeated);
  return value;
}

/** The first repeated name, in one pass that keeps only the names of open objects. The text may be invalid. */
function scan(text: string, budget: JsonBudget): string | undefined {
  const open: (Set<string> | null)[] = [];
  let repeated: string | undefined;
  let expectsName = false;
  const count = (): void => {
    if (++budget.used > budget.values) throw new JsonRefused(`has more than ${budget.values} values`);
  };
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case OBJECT:
      case LIST:
        // Each value follows one of these four characters.
        count();
        expectsName = text.charCodeAt(at) === OBJECT;
        if (open.length >= budget.depth) throw new JsonRefused(`has more than ${budget.depth} levels`);
        open.push(expectsName ? new Set() : null);
        break;
      case END_OF_OBJECT:
      case END_OF_LIST:
        open.pop();
        expectsName = false;
        break;
      case COMMA:
        count();
        expectsName = open.at(-1) instanceof Set;
        break;
      case COLON:
        count();
        break;
      case QUOTE: {
        const end = endOfString(text, at);
        const names = expectsName ? open.at(-1) : null;
        if (names) {
          const name = nameOf(text.slice(at + 1, end));
          if (names.has(name)) repeated ??= name;
          names.add(name);
        }
        expectsName = false;
        at = end;
        break;
      }
    }
  }
  return repeated;
}

/** `"a"` and `"\u0061"` are the same name. */
function nameOf(text: string): string {
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) break;
    if (code === BACKSLASH) at++;
  }
  return at;
}
