/**
 * The lines of a playlist as a report shows them: addresses without user info, query values, fragments and inline data,
 * and no values of variables, of which players make query strings. What each playlist may add to the report is bounded,
 * so that no number of playlists makes it large.
 */
import { HIDDEN, hideQuery } from '../../base/hide_query.ts';

/** A longer line is named by its length: what is hidden in it must not depend on where it is cut. */
const LONGEST = 4_096;

/** A copy: a slice would keep the whole playlist in memory. */
export const headOf = (source: string): string =>
  Buffer.from(upToALine(source, MOST_TEXT.each).toWellFormed()).toString();

export function shownText(head: string, most: number, lines: number) {
  const list = head.split('\n');
  if (list.at(-1) === '') list.pop();
  const shown: string[] = [];
  let left = most;
  for (const line of list) {
    const text = shownLine(line);
    left -= text.length + 1;
    if (left < 0) break;
    shown.push(text);
  }
  return { lines: shown, left_out: Math.max(0, lines - shown.length) };
}

function upToALine(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, text.lastIndexOf('\n', most - 1) + 1);
}

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const SECRET_NAME =
  /((?:token|secret|passw|signature|credential|authori|api-?key)[a-z0-9_-]{0,40}\s{0,4}[=:]\s{0,4})("[^"]*"?|[^",\s]+)/gi;
const DEFINED_VALUE = /(VALUE\s{0,4}=\s{0,4})("[^"]*"?|[^",]*)/gi;

export function shownLine(raw: string): string {
  const line = raw.replace(/\r$/, '');
  if (line.length > LONGEST) return `[${line.length} characters]`;
  const text = line.replace(CONTROL, '\ufffd');
  if (!text.trimStart().startsWith('#')) return shownAddress(text.split('#')[0]!);
  const named = text.replace(SECRET_NAME, `$1"${HIDDEN}"`);
  const values = named.includes('EXT-X-DEFINE') ? named.replace(DEFINED_VALUE, `$1"${HIDDEN}"`) : named;
  return values.split('"').map(shownPart).join('"');
}

/** Between two quotes, or outside of them. */
const shownPart = (part: string): string => shownAddress(part.replace(/(?<=.)#[^#]*=.*$/, ''));

/** Each pattern takes linear time: it needs nothing after what it has taken. */
function shownAddress(text: string): string {
  const bare = text.replace(
    /(https?:[/\\]*|:[/\\]+|[/\\]{2,})([^/\\?]*)/gi,
    (_, start: string, authority: string) => start + authority.slice(authority.lastIndexOf('@') + 1),
  );
  return hideQuery(bare.replace(/\bdata:.*$/i, 'data:'));
}

/** Segment durations of one playlist, and of all. */
export const MOST_DURATIONS = { each: 2_000, all: 20_000 };
/** Characters of one playlist, and of all. */
export const MOST_TEXT = { each: 64 << 10, all: 512 << 10 };

/** The most that each one may have so that all fit: small ones leave their rest to large ones. */
export function shareOf(sizes: readonly number[], { each, all }: { each: number; all: number }): number {
  let left = all;
  const sorted = sizes.map((size) => Math.min(size, each)).sort((a, b) => a - b);
  for (const [index, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (size > share) return share;
    left -= size;
  }
  return each;
}
