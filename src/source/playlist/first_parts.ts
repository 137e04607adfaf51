/** What tools read first of the parts that a playlist names. Pure: PartsAhead fetches them. */
import { resolveReference } from '../address/target.ts';
import { firstDashParts } from './dash_parts.ts';
import { isFinalHls } from './hls.ts';
import type { PlaylistKind } from './playlist.ts';

export interface Part {
  url: string;
  /** Its own parts follow. */
  isPlaylist: boolean;
  /** What only tools that decode read. */
  isMedia: boolean;
}

/** Of the text: what comes first is named first. */
const MOST_TEXT = 64 << 10;
const LONGEST_REFERENCE = 2000;

export function firstParts(kind: PlaylistKind, text: string, base: string): Part[] {
  const named = kind === 'hls' ? firstHlsParts(text) : firstDashParts(text.slice(0, MOST_TEXT), base);
  const urls = new Set<string>();
  return named.flatMap(({ reference, from = base, ...what }) => {
    const url = reference.length > LONGEST_REFERENCE ? undefined : resolveReference(from, reference);
    if (url === undefined || urls.has(url)) return [];
    urls.add(url);
    return [{ url, ...what }];
  });
}

export interface Named {
  reference: string;
  /** What it is relative to; the playlist by default. */
  from?: string;
  isPlaylist: boolean;
  isMedia: boolean;
}

const STREAM = /^#EXT-X-STREAM-INF:[^\r\n]*[\r\n]+([^#\s][^\r\n]*)/gm;
const RENDITION = /^#EXT-X-MEDIA:[^\r\n]{0,1000}?URI="([^"\r\n]{1,2000})"/gm;
const INITIAL = /^#EXT-X-(?:MAP|KEY):[^\r\n]{0,1000}?URI="([^"\r\n]{1,2000})"/gm;
const SEGMENT = /^[^#\s][^\r\n]*/gm;
/** Players, and ffprobe, begin a stream that goes on as many segments from its end. */
const FROM_LIVE = 3;

function firstHlsParts(text: string): Named[] {
  const head = text.slice(0, MOST_TEXT);
  const named = (found: Iterable<RegExpExecArray>, isPlaylist: boolean): Named[] =>
    [...found].map(([all, one]) => ({ reference: (one ?? all).trim(), isPlaylist, isMedia: false }));
  const streams = named(head.matchAll(STREAM), true);
  // mediainfo reads the segments of HLS, too, so none of them is for tools that decode.
  if (streams.length > 0) return [...streams, ...named(head.matchAll(RENDITION), true)];
  const [key] = named(head.matchAll(INITIAL), false);
  const segments = isFinalHls(text)
    ? named(head.matchAll(SEGMENT), false).slice(0, 1)
    : named(text.slice(-MOST_TEXT).matchAll(SEGMENT), false).slice(-FROM_LIVE).slice(0, 1);
  return key === undefined ? segments : [key, ...segments];
}
