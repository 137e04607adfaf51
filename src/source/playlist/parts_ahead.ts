/**
 * Fetches what the tools read first of a far playlist's parts. A tool asks for one after another, each a round trip
 * after it has read the one before.
 */
import type { OriginFile } from '../file/origin_file.ts';
import { playlistKind, readText, type PlaylistKind } from './playlist.ts';
import { resolveReference } from '../address/target.ts';
import { unescapeXml, xmlTags, type Tag } from '../../base/xml.ts';
import { isFinalHls } from './hls.ts';

/** Of one source, in the order in which ffprobe reads them: with each come the first bytes alone. */
const MOST_PARTS = 16;
/** The others of its connections are for what a tool waits for. */
const MOST_AT_ONCE = 4;

export interface Ahead {
  /** Any part goes through the guard, and has the credentials that it has when a tool asks for it. */
  open(url: string): OriginFile;
  /** Called when the source is one. */
  isPlaylist(): void;
  /** Whether a tool decodes media. */
  decodes: boolean;
}

/** Never rejects: what fails here fails when a tool asks for it. */
export async function fetchParts(source: OriginFile, ahead: Ahead): Promise<void> {
  const known = new Set<string>();
  const waiting: { file: OriginFile; isPlaylist: boolean }[] = [];
  let left = MOST_PARTS;

  const read = async (playlist: OriginFile): Promise<boolean> => {
    const head = await playlist.open();
    const kind = playlist.isNear ? undefined : await playlistKind(playlist, head);
    if (kind === undefined) return false;
    if (playlist === source) ahead.isPlaylist();
    const text = (await readText(playlist, head)).toString('utf8');
    for (const { url, isPlaylist, isMedia } of firstParts(kind, text, head.url)) {
      if (left <= 0) break;
      if (known.has(url) || (isMedia && !ahead.decodes)) continue;
      known.add(url);
      left--;
      waiting.push({ file: ahead.open(url), isPlaylist });
    }
    return true;
  };

  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await (next.isPlaylist ? read(next.file) : next.file.start()).catch(() => {});
    }
  };

  try {
    known.add(source.url);
    if (await read(source)) await Promise.all(Array.from({ length: MOST_AT_ONCE }, work));
  } catch {
    // The source itself cannot be read, or the job is over.
  }
}

/** What tools read first of those that a playlist names. */
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

interface Named {
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

/** What an element says of segments. Its children inherit it. */
interface Scope {
  name: string;
  base: string;
  ownBase?: boolean;
  id?: string | undefined;
  bandwidth?: string | undefined;
  initialization?: string | undefined;
  media?: string | undefined;
  startNumber?: string | undefined;
  time?: string | undefined;
}

const MOST_NAMED = 64;
const DEEPEST = 16;

/** The initialization and the first segment of each representation of a manifest's first period. */
function firstDashParts(text: string, url: string): Named[] {
  // Which segment is the first of a live manifest depends on the time.
  const isLive = /\stype\s*=\s*["']dynamic/.test(text);
  const open: Scope[] = [{ name: '', base: url }];
  const named: Named[] = [];
  const top = (): Scope => open.at(-1)!;

  const begin = (tag: Tag, name: string): void => {
    const { base, id, bandwidth, initialization, media, startNumber, time } = top();
    const said = Object.fromEntries(
      tag.attributes().map((one) => [one.name, unescapeXml(text.slice(one.from, one.to))]),
    );
    const scope: Scope = { name, base, id, bandwidth, initialization, media, startNumber, time };
    if (name === 'Representation') Object.assign(scope, { id: said['id'], bandwidth: said['bandwidth'] });
    const parent = open.at(-1)!;
    const owner = name === 'S' ? open.at(-3) : parent;
    if (name === 'SegmentTemplate') Object.assign(parent, picked(said, ['initialization', 'media', 'startNumber']));
    if (name === 'Initialization') Object.assign(open.at(-2) ?? {}, { initialization: said['sourceURL'] });
    if (name === 'SegmentURL') open.at(-2)!.media ??= said['media'];
    if (name === 'S' && owner !== undefined) owner.time ??= said['t'];
    open.push(scope);
  };

  const end = (): void => {
    const scope = open.pop()!;
    if (scope.name !== 'Representation') return;
    for (const [pattern, isMedia] of [
      [scope.initialization, false],
      [isLive ? undefined : scope.media, true],
    ] as const)
      if (pattern !== undefined && pattern !== '')
        named.push({ reference: filled(pattern, scope), from: scope.base, isPlaylist: false, isMedia });
  };

  for (const tag of xmlTags(text)) {
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    if (named.length >= MOST_NAMED || open.length > DEEPEST) break;
    if (tag.kind === 'close') {
      if (name === 'Period') break;
      if (top().name === name) end();
      continue;
    }
    if (name === 'BaseURL' && tag.kind === 'open') {
      const scope = top();
      const close = text.indexOf('<', tag.to);
      const base = close === -1 ? undefined : resolveReference(scope.base, unescapeXml(text.slice(tag.to, close)));
      // Several are alternatives.
      if (base !== undefined && scope.ownBase !== true) Object.assign(scope, { base, ownBase: true });
    }
    begin(tag, name);
    if (tag.kind === 'empty') end();
  }
  return named;
}

const picked = (from: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));

const LONGEST_PADDING = 20;

function filled(pattern: string, { id = '', bandwidth = '', startNumber = '1', time = '0' }: Scope): string {
  const values: Record<string, string> = {
    RepresentationID: id,
    Bandwidth: bandwidth,
    Number: startNumber,
    Time: time,
  };
  return pattern.replace(
    /\$(RepresentationID|Bandwidth|Number|Time)?(?:%0(\d{1,2})d)?\$/g,
    (_all, name: string | undefined, width = '0') =>
      name === undefined ? '$' : values[name]!.padStart(Math.min(Number(width), LONGEST_PADDING), '0'),
  );
}
