import { isNatural, moved, referenceRewriter, type Place, type Roots } from './mapping.ts';

/** Rewrites every address in an HLS playlist to one of the proxy. Unknown lines are kept. */
export function rewriteHls(text: string, place: Place, { near }: Roots): string {
  const away = moved(place);
  const toProxy = referenceRewriter();
  const rewrite = (reference: string): string => {
    const bare = reference.trim();
    return bare === '' || (!away && isNatural(bare)) ? reference : toProxy(bare, place.final, near);
  };
  return text.replace(/[^\r\n]+/g, (line) => {
    if (!line.trimStart().startsWith('#')) return line.trim() === '' ? line : rewrite(line);
    return line.startsWith('#EXT') ? rewriteAttributes(line, rewrite) : line;
  });
}

/** Attributes that contain an address, by the ends of their names: URI, X-ASSET-URI, X-ASSET-LIST. */
const ADDRESSED = /(?:URI|URL|ASSET-LIST)$/;

/**
 * Scans `#EXT-X-TAG:NAME=value,NAME="value"` once from left to right: a pattern over a whole line could take quadratic
 * time.
 */
function rewriteAttributes(line: string, rewrite: (reference: string) => string): string {
  let at = line.indexOf(':') + 1;
  if (at === 0) return line;
  const between = /[\s,]*/y;
  const attribute = /([A-Za-z0-9-]{1,64})=(?:"([^"]*)"|([^,]*))/y;
  let result = line.slice(0, at);
  while (at < line.length) {
    between.lastIndex = at;
    between.exec(line);
    result += line.slice(at, between.lastIndex);
    at = attribute.lastIndex = between.lastIndex;
    const match = attribute.exec(line);
    let end = attribute.lastIndex;
    if (match === null) {
      const comma = line.indexOf(',', at);
      end = comma === -1 ? line.length : comma + 1;
      result += line.slice(at, end);
    } else if (ADDRESSED.test(match[1]!)) {
      const value = match[2] ?? match[3]!;
      const quote = match[2] === undefined ? 0 : 1;
      result += `${line.slice(at, end - value.length - quote)}${rewrite(value)}${quote === 1 ? '"' : ''}`;
    } else {
      result += line.slice(at, end);
    }
    at = end;
  }
  return result;
}

/** Whether the playlist will not change: a multivariant playlist, or one that has ended. */
export const isFinalHls = (text: string): boolean =>
  /^#EXT-X-(?:ENDLIST|STREAM-INF|I-FRAME-STREAM-INF|PLAYLIST-TYPE:VOD)/m.test(text);
