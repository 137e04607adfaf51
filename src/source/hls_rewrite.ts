import { isNatural, moved, rewriteReference, type Place } from './mapping.ts';

/** Turns every address in an HLS playlist into one of the proxy. Lines it does not understand stay as they are. */
export function rewriteHls(text: string, place: Place, prefix: string): string {
  const away = moved(place);
  const rewrite = (reference: string): string => {
    const bare = reference.trim();
    return bare === '' || (!away && isNatural(bare)) ? reference : rewriteReference(bare, place.final, prefix);
  };
  return text.replace(/[^\r\n]+/g, (line) => {
    if (!line.trimStart().startsWith('#')) return line.trim() === '' ? line : rewrite(line);
    if (!line.startsWith('#EXT')) return line;
    return line
      .replace(/([A-Z0-9-]*(?:URI|URL|ASSET-LIST))="([^"]*)"/g, (_whole, name: string, value: string) => `${name}="${rewrite(value)}"`)
      .replace(/([A-Z0-9-]*URI)=([^",\s][^,]*)/g, (_whole, name: string, value: string) => `${name}=${rewrite(value)}`);
  });
}

/** A playlist that will not change: a master, or one that has ended. */
export const isFinalHls = (text: string): boolean => /^#EXT-X-(?:ENDLIST|STREAM-INF|I-FRAME-STREAM-INF|PLAYLIST-TYPE:VOD)/m.test(text);
