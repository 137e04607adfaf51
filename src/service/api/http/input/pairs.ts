/**
 * Parses a query string or form to an ordered list of names and values. Bounded and strict: invalid encoding is
 * rejected.
 */
import { ApiError, invalid } from '../../errors.ts';

export type Pair = [name: string, value: string];

export const MAX_PAIRS = 256;
const MAX_NAME = 256;

function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError('unreadable-input', { text: `${where}: is not valid percent-encoded UTF-8` });
  }
}

export const shown = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

export function parsePairs(text: string, where: 'query' | 'body'): Pair[] {
  const pairs: Pair[] = [];
  for (const part of text.split('&', MAX_PAIRS + 2)) {
    if (part === '') continue;
    if (pairs.length >= MAX_PAIRS)
      throw new ApiError('unreadable-input', { text: `${where}: has more than ${MAX_PAIRS} fields` });
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals), where);
    if (name.length > MAX_NAME)
      throw new ApiError('unreadable-input', { text: `${where}: the name "${shown(name)}" is too long` });
    pairs.push([name, equals < 0 ? '' : decode(part.slice(equals + 1), shown(name))]);
  }
  return pairs;
}

// Bracket notation with a single level: `a=1&b[c]=2` is `{a: '1', b: {c: '2'}}`. A fixed grammar, without arrays.

export type Nested = Record<string, string | Record<string, string>>;

const NAME = /^([^[\]]+)(?:\[([^[\]]+)\])?$/;

export function nest(pairs: readonly Pair[]): Nested {
  // Without a prototype, so that `__proto__` is a normal, unknown name.
  const out = Object.create(null) as Nested;
  for (const [name, value] of pairs) {
    const match = NAME.exec(name);
    if (!match)
      throw new ApiError('invalid-field', {
        text: `"${shown(name)}": is not a valid field name; use name=value or name[option]=value`,
      });
    const [, outer, inner] = match as unknown as [string, string, string | undefined];
    // An empty value counts as not sent, so it is no repetition either.
    if (value === '') continue;
    const present = out[outer];
    if (inner === undefined) {
      if (present !== undefined) throw invalid(shown(outer), 'is given more than once');
      out[outer] = value;
      continue;
    }
    if (typeof present === 'string') throw invalid(shown(outer), 'is given more than once');
    const object = (present ?? Object.create(null)) as Record<string, string>;
    if (object[inner] !== undefined) throw invalid(`${shown(outer)}.${shown(inner)}`, 'is given more than once');
    object[inner] = value;
    out[outer] = object;
  }
  return out;
}
