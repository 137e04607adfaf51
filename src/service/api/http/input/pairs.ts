/**
 * Parses a query string or form to an ordered list of names and values. Bounded and strict: invalid encoding is
 * rejected.
 */
import { ApiError } from '../../errors.ts';

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
