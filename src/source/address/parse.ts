/** Parses the text of an address into a Source. Error messages here never repeat any part of the text. */
import { SourceError } from '../error.ts';
import type { ParseOptions } from '../protocols/protocol.ts';
import { knownProtocol, SCHEMES } from '../protocols/table.ts';
import type { Source } from '../source.ts';
import { invalid } from './text.ts';

/** The longest address that is accepted, in characters. */
export const LONGEST_SOURCE = 8192;

/** Parses an address in any supported spelling. */
export function parseSource(text: string, options: ParseOptions = {}): Source {
  if (typeof text !== 'string') throw invalid('url must be a string');
  if (text.length > LONGEST_SOURCE)
    throw new SourceError('source-too-long', `url must have at most ${LONGEST_SOURCE} characters`);
  const trimmed = withoutBlanks(text);
  if (trimmed === '') throw invalid('url must not be empty');
  // The URL parser would silently drop tabs and line ends.
  if (/[\p{Cc}\u2028\u2029]/u.test(trimmed)) throw invalid('url must not hold control characters');
  if (!trimmed.isWellFormed()) throw invalid('url is not well-formed text');
  const match = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(trimmed);
  const scheme = match?.[1]!.toLowerCase() ?? '';
  const protocol = knownProtocol(scheme);
  if (match === null || protocol === undefined) {
    throw new SourceError('source-scheme', `url must begin with one of ${SCHEMES.map((s) => `${s}://`).join(' ')}`);
  }
  return protocol.parse(match[2]!, scheme, options);
}

/** The pattern ` +$` would be tried at every blank inside the text. */
function withoutBlanks(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && text[from] === ' ') from++;
  while (to > from && text[to - 1] === ' ') to--;
  return text.slice(from, to);
}
