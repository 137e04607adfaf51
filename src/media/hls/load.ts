/** Fetches and parses one playlist, and applies the rules for a single playlist. */
import { hideQuery } from '../../source/address/hide_query.ts';
import { declaredParameters } from '../../source/playlist/parameters.ts';
import { Findings } from './findings.ts';
import { judgePlaylist } from './judge.ts';
import type { Limits } from './limits.ts';
import type { Origin } from './origin.ts';
import { MOST_LINES, parsePlaylist } from './parse.ts';
import type { Playlist } from './playlist.ts';
import type { Note } from './rules/catalog.ts';
import { headOf } from './shown_text.ts';
import { decodePlaylist } from './text.ts';

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

export type Loaded = { ok: true; playlist: Playlist } | { ok: false; shown: string; error: string; status: number };

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
  if (fetched.error !== undefined) return { ok: false, shown, error: fetched.error, status: fetched.status };
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
  const context = {
    url: shown,
    base: fetched.place,
    bytes: fetched.bytes.length,
    whole: fetched.whole,
    mostLines: Math.max(1000, Math.min(MOST_LINES, left.lines)),
    ...(until === undefined ? {} : { until }),
    ...(imports === undefined ? {} : { imports }),
  };
  const names = declaredParameters(source.slice(0, 1 << 20));
  const parameters = names.length === 0 ? undefined : await origin.parameters(url, names);
  const playlist = parsePlaylist(
    source,
    { ...context, ...(parameters === undefined ? {} : { parameter: (name: string) => parameters.get(name) }) },
    note,
  );
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
