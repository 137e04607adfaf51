/** The text of a policy in the editor: pure. */

/** The store orders keys by their length; these come first, as people write them. */
const FIRST_KEYS = ['description', 'uses', 'rules', 'name', 'level', 'each', 'field'];
const rank = (key: string): number => (FIRST_KEYS.includes(key) ? FIRST_KEYS.indexOf(key) : FIRST_KEYS.length);

/** As YAML: keys without quotes, every text in them. */
function yamlOf(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isFlat = Object.values(value).every((one) => typeof one !== 'object' || one === null);
  if (Array.isArray(value)) {
    if (value.length === 0 || isFlat) return `[${value.map((one) => JSON.stringify(one)).join(', ')}]`;
    return value.map((one) => `\n${indent}- ${yamlOf(one, `${indent}  `).trimStart()}`).join('');
  }
  return Object.entries(value)
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .map(([key, one]) => {
      const text = yamlOf(one, `${indent}  `);
      const name = /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
      return `\n${indent}${name}:${text.startsWith('\n') ? '' : ' '}${text}`;
    })
    .join('');
}

export const policyText = (policy: unknown): string => `${yamlOf(policy).trimStart()}\n`;

export interface Span {
  from: number;
  to: number;
  /** From 1, as editors count. */
  line: number;
}

/** Behind `from`, the nth item of a list: a line that begins with a dash at the indent of the first. */
function itemAt(text: string, from: number, index: number): number | null {
  const items = [...text.slice(from).matchAll(/^( *)- /gm)];
  const indent = items[0]?.[1];
  const item = items.filter(([, spaces]) => spaces === indent)[index];
  return item ? from + item.index : null;
}

/** Where `rules[3].field` stands in a text, as far as it is found; null: nowhere. */
export function placeOf(text: string, path: string): Span | null {
  let from = 0;
  for (const [, key, index] of path.matchAll(/([\w-]+)|\[(\d+)\]/g)) {
    const found: number | null =
      index === undefined
        ? (new RegExp(String.raw`(?<![\w-])${key}["']?\s*:`).exec(text.slice(from))?.index ?? null)
        : itemAt(text, from, Number(index));
    if (found === null) break;
    from = index === undefined ? from + found : found;
  }
  if (from === 0 && !/^["']?rules/.test(text)) return null;
  const end = text.indexOf('\n', from);
  return { from, to: end === -1 ? text.length : end, line: text.slice(0, from).split('\n').length };
}

export interface Completion {
  /** What of the word is there already. */
  from: number;
  to: number;
  names: string[];
}

const MOST_NAMES = 8;

/** Names for the word at the caret, where a field is named. */
export function completionAt(text: string, caret: number, names: readonly string[]): Completion | null {
  const line = text.slice(text.lastIndexOf('\n', caret - 1) + 1, caret);
  const typed = /\bfield["']?\s*:\s*["']?([\w.[\]]*)$/.exec(line)?.[1];
  // A whole name is left alone: Enter then ends the line.
  if (typed === undefined || names.includes(typed)) return null;
  const wanted = typed.toLowerCase();
  const fitting = [
    ...names.filter((name) => name.startsWith(wanted)),
    ...names.filter((name) => !name.startsWith(wanted) && name.includes(wanted)),
  ];
  return fitting.length === 0 ? null : { from: caret - typed.length, to: caret, names: fitting.slice(0, MOST_NAMES) };
}
