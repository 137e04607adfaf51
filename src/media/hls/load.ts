/** Fetches, decodes and parses one playlist, and applies the rules for a single playlist. */
import { isUtf8 } from 'node:buffer';
import { hideQuery } from '../../base/hide_query.ts';
import { declaredParameters } from '../../source/playlist/parameters.ts';
import { Findings } from './findings.ts';
import type { Limits } from './limits.ts';
import type { Origin } from './origin.ts';
import { MOST_LINES, parsePlaylist } from './parse.ts';
import type { Playlist } from './playlist.ts';
import type { Note } from './rules/catalog.ts';
import { headOf } from './shown_text.ts';
import { judgeDateRanges } from './rules/daterange.ts';
import { judgeLowLatency } from './rules/low_latency.ts';
import { judgeMedia } from './rules/media.ts';
import { judgeMultivariant } from './rules/multivariant.ts';
import { judgeRenditions } from './rules/renditions.ts';
import { judgeVersion } from './rules/version.ts';

export interface Loading {
  origin: Origin;
  /** Undefined: the source. */
  url: string | undefined;
  findings: Findings;
  limits: Limits;
  imports?: ReadonlyMap<string, string>;
  anew?: boolean;
  /** For a reload, which only reports changes. */
  quiet?: boolean;
  /** Whether the report shows its lines. */
  keepsText?: boolean;
  signal: AbortSignal;
  /** By `performance.now()`: playlists not read by then are not checked. */
  until?: number;
  /** Remaining budget of all playlists of the presentation. */
  left?: { bytes: number; lines: number };
}

export type Loaded = { ok: true; playlist: Playlist } | { ok: false; shown: string; error: string };

/** In displayable form: without user info, with every query value hidden. */
export function shownUrl(url: string): string {
  if (url.startsWith('data:')) return 'data:';
  return hideQuery(url.split('#')[0]!.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?@]*@/i, '$1'));
}

const TYPES = /^(application\/(vnd\.apple\.mpegurl|x-mpegurl)|audio\/(x-)?mpegurl)\b/i;

export async function loadPlaylist({
  origin,
  url,
  findings,
  limits,
  imports,
  anew = false,
  quiet = false,
  keepsText = false,
  signal,
  until,
  left = { bytes: Infinity, lines: MOST_LINES },
}: Loading): Promise<Loaded> {
  const fetched = await origin.fetch(url, { maxBytes: limits.playlistBytes, anew, signal });
  const shown = url === undefined ? shownUrl(fetched.place) : shownUrl(url);
  if (fetched.error !== undefined) return { ok: false, shown, error: fetched.error };
  const noteIn = quiet ? () => {} : findings.in(shown);
  left.bytes -= fetched.bytes.length;
  // A web page in place of a playlist would break every rule, so only the fact that it is no playlist is reported.
  const pending: Parameters<Note>[] = [];
  const note: Note = (...found) => {
    if (pending.length < 100_000) pending.push(found);
  };
  // The last line is incomplete.
  const bytes = fetched.whole ? fetched.bytes : fetched.bytes.subarray(0, fetched.bytes.lastIndexOf(10) + 1);
  const source = decodePlaylist(bytes, note);
  const names = declaredParameters(source.slice(0, 1 << 20));
  const parameters = names.length === 0 ? undefined : await origin.parameters(url, names);
  const context = {
    url: shown,
    base: fetched.place,
    bytes: fetched.bytes.length,
    whole: fetched.whole,
    mostLines: Math.max(1000, Math.min(MOST_LINES, left.lines)),
    until,
    imports,
    parameter: parameters && ((name: string) => parameters.get(name)),
  };
  const playlist = parsePlaylist(source, context, note);
  left.lines -= playlist.lines;
  if (playlist.counts.size === 0 && pending.some(([rule]) => rule === 'not-a-playlist')) {
    for (const found of pending) if (found[0] === 'not-a-playlist' || found[0] === 'encoding-utf8') noteIn(...found);
    return { ok: true, playlist: { ...playlist, kind: 'unknown', segments: [] } };
  }
  for (const found of pending) noteIn(...found);
  if (playlist.kind === 'unknown') noteIn('playlist-empty', playlist.lines);
  if (!TYPES.test(fetched.type) && !/\.m3u8?$/i.test(fetched.place))
    noteIn('content-type', 1, fetched.type === '' ? 'no type is named' : JSON.stringify(fetched.type.slice(0, 80)));
  if (!fetched.whole) noteIn('analysis-cut', playlist.lines, `the first ${limits.playlistBytes >> 20} MB were read`);
  judgePlaylist(playlist, noteIn);
  return { ok: true, playlist: keepsText ? { ...playlist, head: headOf(source) } : playlist };
}

/** Applies all rules that concern a single playlist. */
export function judgePlaylist(playlist: Playlist, note: Note): void {
  if (playlist.kind === 'unknown') return;
  judgeVersion(playlist, note);
  if (playlist.kind === 'media') {
    judgeMedia(playlist, note);
    judgeDateRanges(playlist, note);
    judgeLowLatency(playlist, note);
    return;
  }
  judgeMultivariant(playlist, note);
  judgeRenditions(playlist, note);
}

/** Continues with any encoding, and notes what is wrong with it. */
export function decodePlaylist(bytes: Buffer, note: Note): string {
  const utf16 = utf16Of(bytes);
  if (utf16 !== undefined) {
    note('encoding-utf8', 1, `it is in UTF-16 (${utf16} endian)`);
    const even = Buffer.from(bytes.subarray(0, bytes.length & ~1));
    return (utf16 === 'big' ? even.swap16() : even).toString('utf16le').replace(/^\ufeff/, '');
  }
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (marked) note('encoding-bom', 1);
  const body = marked ? bytes.subarray(3) : bytes;
  const badAt = firstInvalid(body);
  const text = badAt === -1 ? body.toString('utf8') : body.toString('latin1');
  if (badAt !== -1) note('encoding-utf8', lineOf(body, badAt), 'its bytes are not valid UTF-8');
  // oxlint-disable-next-line no-control-regex
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.exec(text);
  if (control !== null && badAt === -1)
    note(
      'encoding-control',
      lineOf(Buffer.from(text.slice(0, control.index)), Infinity),
      `U+${control[0].charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
    );
  const tab = text.indexOf('\t');
  if (tab !== -1) note('encoding-tab', lineOf(Buffer.from(text.slice(0, tab)), Infinity));
  if (badAt === -1 && body.length !== text.length && text.length < 1 << 20 && text.normalize('NFC') !== text)
    note('encoding-nfc', firstDifferent(text));
  return text;
}

function utf16Of(bytes: Buffer): 'little' | 'big' | undefined {
  if (bytes.length < 4) return undefined;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'little';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'big';
  if (bytes[0] === 0x23 && bytes[1] === 0 && bytes[3] === 0) return 'little';
  return bytes[0] === 0 && bytes[1] === 0x23 && bytes[2] === 0 ? 'big' : undefined;
}

/** The first invalid byte, or one close before it; -1: the bytes are UTF-8. */
function firstInvalid(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1;
  let [good, bad] = [0, bytes.length];
  while (bad - good > 64) {
    const middle = (good + bad) >> 1;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return good;
}

function lineOf(bytes: Buffer, end: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at !== -1 && at < end; at = bytes.indexOf(10, at + 1)) line++;
  return line;
}

const firstDifferent = (text: string): number =>
  text.split('\n').findIndex((line) => line.normalize('NFC') !== line) + 1;
