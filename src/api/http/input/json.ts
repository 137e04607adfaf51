/**
 * Finds a repeated name in one object of a JSON text: JSON.parse would use the last value, another reader the first.
 */

/** No request has deeper fields; a text of nothing but brackets must not cost a set for each. */
const DEEPEST = 64;

/** The first repeated name; the text must be valid JSON. A single pass that keeps only the names of open objects. */
export function duplicateIn(text: string): string | undefined {
  const open: (Set<string> | null)[] = [];
  let expectsName = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        open.push(open.length < DEEPEST ? new Set() : null);
        expectsName = true;
        break;
      case '[':
        open.push(null);
        expectsName = false;
        break;
      case '}':
      case ']':
        open.pop();
        expectsName = false;
        break;
      case ',':
        expectsName = open.at(-1) instanceof Set;
        break;
      case '"': {
        const end = endOfString(text, at);
        const names = expectsName ? open.at(-1) : null;
        if (names) {
          // `"a"` and `"\u0061"` are the same name.
          const name = JSON.parse(text.slice(at, end + 1)) as string;
          if (names.has(name)) return name;
          names.add(name);
        }
        expectsName = false;
        at = end;
        break;
      }
    }
  }
  return undefined;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
