/** Rules for changes between two reads of a live playlist. Segments are identified by their media sequence numbers. */
import { has, lineOf, type Playlist, type Segment } from '../playlist.ts';
import { must, should, type Rule } from '../rule.ts';
import type { Note } from './catalog.ts';

export const RELOAD_RULES = {
  'reload-unreadable': must('6.2.2')`A live playlist can no longer be read.
    Replace playlists by a rename, so that readers never find a half of one.`,
  'reload-sequence-back': must('6.2.2')`The media sequence number went back.
    Continue the numbers after a restart of the packager.`,
  'reload-segment-changed': must('6.2.1')`The address of a segment changed.
    Give a new segment a new address; never change one that was published.`,
  'reload-duration-changed': must('6.2.1')`The duration of a segment changed.
    Write a segment into the playlist when it is complete.`,
  'reload-removed': must('6.2.2')`Segments were removed, and not from the beginning.
    Remove from the beginning alone, and raise EXT-X-MEDIA-SEQUENCE by as many.`,
  'reload-target': must('6.2.1')`The target duration changed. Set a target duration that holds for the whole stream.`,
  'reload-type': must('6.2.1')`EXT-X-PLAYLIST-TYPE changed. Keep the type for the whole stream.`,
  'reload-event': must('4.4.3.5')`A playlist of the type EVENT lost segments.
    Remove nothing, or leave out the type EVENT.`,
  'reload-discontinuity': must('6.2.2')`
    The discontinuity sequence number does not count the discontinuities that were removed.
    Raise EXT-X-DISCONTINUITY-SEQUENCE for each that is dropped.`,
  'reload-version': should('4.4.1.2')`EXT-X-VERSION changed.
    Write the highest version that is needed from the beginning.`,
  'reload-stale': must('6.2.2')`A live playlist was not updated within one and a half target durations.
    Check the encoder, and caches that keep the playlist for too long.`,
  'reload-jump': should('6.2.2')`No segment remained from one read to the next.
    Raise the number of segments of the live window in the packager.`,
} satisfies Record<string, Rule>;

/** A segment's identity: address and range, without the query, which may contain changing tokens. */
const identity = ({ uri, range }: Segment): string =>
  `${uri.split('?')[0]} ${range?.offset ?? ''} ${range?.length ?? ''}`;

export function judgeReload(before: Playlist, after: Playlist, note: Note): void {
  if (after.kind !== 'media') {
    note('reload-unreadable', 1, 'it is no longer a media playlist');
    return;
  }
  if (after.targetDuration !== before.targetDuration)
    note(
      'reload-target',
      lineOf(after, 'EXT-X-TARGETDURATION'),
      `${before.targetDuration} s, then ${after.targetDuration} s`,
    );
  if (after.type !== before.type)
    note('reload-type', lineOf(after, 'EXT-X-PLAYLIST-TYPE'), `${before.type ?? 'none'}, then ${after.type ?? 'none'}`);
  if (after.version !== before.version)
    note('reload-version', after.versionLine || 1, `${before.version ?? 'none'}, then ${after.version ?? 'none'}`);
  const moved = Number(after.mediaSequence - before.mediaSequence);
  if (moved < 0) {
    note(
      'reload-sequence-back',
      lineOf(after, 'EXT-X-MEDIA-SEQUENCE'),
      `${before.mediaSequence}, then ${after.mediaSequence}`,
    );
    return;
  }
  if (before.type === 'EVENT' && moved > 0)
    note('reload-event', lineOf(after, 'EXT-X-MEDIA-SEQUENCE'), `${moved} segments were removed`);
  if (before.segments.length > 0 && moved > before.segments.length)
    note(
      'reload-jump',
      lineOf(after, 'EXT-X-MEDIA-SEQUENCE'),
      `${moved - before.segments.length} segments were never seen`,
    );
  const removed = before.segments.length - moved - after.segments.length;
  if (removed > 0) note('reload-removed', after.lines, `${removed} at the end`);
  for (const segment of after.segments) {
    const old = before.segments[Number(segment.sequence - before.mediaSequence) - before.skipped];
    if (old === undefined || old.sequence !== segment.sequence) continue;
    if (identity(old) !== identity(segment)) {
      note('reload-segment-changed', segment.line, `number ${segment.sequence}`);
      return;
    }
    if (Math.abs(old.duration - segment.duration) > 0.001)
      note(
        'reload-duration-changed',
        segment.infLine,
        `number ${segment.sequence}: ${old.duration} s, then ${segment.duration} s`,
      );
  }
  if (moved > before.segments.length) return;
  const passed = before.segments.slice(0, moved).filter(({ discontinuity }) => discontinuity).length;
  // The tag of a removed segment may remain before the first remaining one.
  const kept = after.segments[0]?.discontinuity === true && before.segments[moved]?.discontinuity !== true ? 1 : 0;
  const expected = before.discontinuitySequence + passed - kept;
  if (after.discontinuitySequence !== expected && (passed > 0 || has(after, 'EXT-X-DISCONTINUITY-SEQUENCE')))
    note(
      'reload-discontinuity',
      lineOf(after, 'EXT-X-DISCONTINUITY-SEQUENCE'),
      `${after.discontinuitySequence} in place of ${expected}`,
    );
}
