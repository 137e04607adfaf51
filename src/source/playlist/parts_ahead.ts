/**
 * Fetches what the tools read first of a far playlist's parts. A tool asks for one after another, each a round trip
 * after it has read the one before.
 */
import type { OriginFile } from '../file/origin_file.ts';
import { firstParts } from './first_parts.ts';
import { playlistKind, readText } from './playlist.ts';

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
