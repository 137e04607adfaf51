/** Applies all rules that concern a single playlist. */
import type { Playlist } from './playlist.ts';
import type { Note } from './rules/catalog.ts';
import { judgeDateRanges } from './rules/daterange.ts';
import { judgeLowLatency } from './rules/low_latency.ts';
import { judgeMedia } from './rules/media.ts';
import { judgeMultivariant } from './rules/multivariant.ts';
import { judgeRenditions } from './rules/renditions.ts';
import { judgeVersion } from './rules/version.ts';

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
