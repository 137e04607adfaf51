/** Rules for one media playlist. */
import { durationOf, has, isLive, lineOf, number, tagsOf, type Playlist, type Segment } from '../playlist.ts';
import { info, must, should, type Rule } from '../rule.ts';
import { judgeAddress } from './address.ts';
import { judgeKeys } from './keys.ts';
import type { Note } from './catalog.ts';

export const MEDIA_RULES = {
  'targetduration-missing': must('4.4.3.1')`EXT-X-TARGETDURATION is missing.
    Add EXT-X-TARGETDURATION, the longest segment rounded to a whole second.`,
  'targetduration-zero': must('4.4.3.1')`The target duration is 0.
    Write the longest segment rounded to a whole second, at least 1.`,
  'extinf-missing': must('4.4.4.1')`A segment has no EXTINF. Add EXTINF before each segment.`,
  'extinf-over-target': must('4.4.3.1')`A segment, rounded to the nearest second, is longer than the target duration.
    Raise the target duration, or force key frames so that no segment is longer.`,
  'extinf-zero': should('4.4.4.1')`A segment has the duration 0. Drop the segment, or write its real duration.`,
  'targetduration-loose': should('4.4.3.1')`
    The target duration is far above the longest segment, and players wait and buffer by it.
    Lower the target duration to the longest segment.`,
  'targetduration-apple': info('media segmentation')`The target duration is not the 6 seconds that Apple recommends.
    Cut segments of 6 s: with ffmpeg -hls_time 6 and a key frame every 2 s.`,
  'segments-none': should('4.1')`The media playlist has no segments.
    Wait for the first segment before publishing the playlist.`,
  'vod-endlist': should('4.4.3.5')`A playlist of the type VOD has no EXT-X-ENDLIST.
    Add EXT-X-ENDLIST, or remove the type VOD.`,
  'endlist-early': should('4.4.3.4')`Segments follow EXT-X-ENDLIST. Move EXT-X-ENDLIST to the end.`,
  'allow-cache': info('8')`EXT-X-ALLOW-CACHE was removed in version 7 of the protocol. Remove the tag.`,
  'start-outside': should('4.4.2.2')`EXT-X-START lies outside the playlist. Set TIME-OFFSET within the playlist.`,
  'start-live-edge': should('4.4.2.2')`EXT-X-START of a live playlist is within three target durations of its end.
    Start at least three target durations before the end.`,
  'live-short': should('6.2.2')`A live playlist is shorter than three target durations.
    Raise the number of segments of the live window in the packager.`,
  'live-sequence': info('6.2.2')`A live playlist has no EXT-X-MEDIA-SEQUENCE, which it needs once it drops segments.
    Write EXT-X-MEDIA-SEQUENCE and raise it for each segment that is dropped.`,
  'discontinuity-sequence': info('6.2.2')`
    A live playlist that drops segments has discontinuities, but no EXT-X-DISCONTINUITY-SEQUENCE.
    Write EXT-X-DISCONTINUITY-SEQUENCE and raise it for each discontinuity that is dropped.`,
  'segment-repeated': info('4.1')`The same resource, or the same range of it, occurs twice in a row.
    Nothing, if it is meant, as for a slate; else check the packager.`,
  'byterange-empty': must('4.4.4.2')`A byte range is empty. Write the length of the segment.`,
  'byterange-overlap': should('4.4.4.2')`The byte ranges of two segments overlap. Correct offsets and lengths.`,
  'map-missing': must('3.1.2')`A fragmented MP4 segment has no init section.
    Add EXT-X-MAP with the address of the init section.`,
  'map-iv': must('4.4.4.5')`An init section that is encrypted with AES-128 has no explicit initialization vector.
    Give the key an IV, or leave the init section unencrypted.`,
  'map-unused': info('4.4.4.5')`An init section applies to no segment. Remove the EXT-X-MAP.`,
  'date-backwards': must('4.4.4.6')`The date of a segment is not after the one before it.
    Correct the clock of the encoder, or add EXT-X-DISCONTINUITY.`,
  'date-drift': should('4.4.4.6')`Dates disagree with the durations between them.
    Make dates from the durations, or add EXT-X-DISCONTINUITY where time jumps.`,
  'bitrate-zero': should('4.4.4.8')`EXT-X-BITRATE is 0. Write the bit rate in kbit/s, or remove the tag.`,
  'gap-present': info('4.4.4.7')`Segments are marked as gaps, so players look for them in other variants.
    Nothing, if other variants have the segments.`,
  'gap-all': should('4.4.4.7')`Every segment is a gap. Check the encoder of this variant.`,
  'iframes-range': info('4.4.3.6')`A frame of an I-frame playlist has no byte range.
    Write EXT-X-BYTERANGE for each frame.`,
  'uri-invalid': must('4.1')`An address cannot be resolved.
    Correct the address; percent-encode what is not allowed in it.`,
  'uri-scheme': must('4.1')`An address has a scheme that players do not fetch. Publish it over HTTPS.`,
  'uri-space': should('4.1')`An address has characters that must be escaped.
    Percent-encode spaces and other characters.`,
} satisfies Record<string, Rule>;

/** Dates are often rounded, and encoders' clocks drift: smaller differences are accepted. */
const DRIFT_MS = 500;
/** Less than half a second more is rounded down. */
const roundedTo = (duration: number): number => Math.round(duration);

export function judgeMedia(playlist: Playlist, note: Note): void {
  const { segments, targetDuration } = playlist;
  if (targetDuration === undefined) {
    if (!has(playlist, 'EXT-X-TARGETDURATION')) note('targetduration-missing', 1);
  } else judgeTarget(playlist, targetDuration, note);
  if (segments.length === 0 && playlist.skipped === 0 && playlist.openParts.length === 0)
    note('segments-none', playlist.lines);
  if (playlist.type === 'VOD' && !playlist.ended && playlist.whole) note('vod-endlist', playlist.lines);
  if (has(playlist, 'EXT-X-ENDLIST') && (segments.at(-1)?.line ?? 0) > lineOf(playlist, 'EXT-X-ENDLIST'))
    note('endlist-early', lineOf(playlist, 'EXT-X-ENDLIST'));
  if (has(playlist, 'EXT-X-ALLOW-CACHE')) note('allow-cache', lineOf(playlist, 'EXT-X-ALLOW-CACHE'));
  if (segments.length > 0 && segments.every(({ gap }) => gap)) note('gap-all', segments[0]?.line ?? 1);
  else if (has(playlist, 'EXT-X-GAP'))
    note(
      'gap-present',
      lineOf(playlist, 'EXT-X-GAP'),
      `${playlist.counts.get('EXT-X-GAP')?.count} of ${segments.length}`,
    );
  if (playlist.iframesOnly) {
    const whole = segments.find(({ range }) => range === undefined);
    if (whole !== undefined) note('iframes-range', whole.line);
  }
  if (playlist.ended) {
    const maps = new Set(segments.map(({ map }) => map?.tag));
    for (const map of tagsOf(playlist, 'EXT-X-MAP')) if (!maps.has(map)) note('map-unused', map.line);
  }
  judgeStart(playlist, note);
  judgeKeys(playlist, note);
  judgeLive(playlist, note);
  judgeSegments(playlist, note);
}

function judgeTarget({ segments, ...playlist }: Playlist, target: number, note: Note): void {
  const where = playlist.counts.get('EXT-X-TARGETDURATION')?.line ?? 1;
  if (target === 0) note('targetduration-zero', where);
  let longest = 0;
  for (const segment of segments) {
    if (segment.duration > longest) longest = segment.duration;
    if (!playlist.iframesOnly && roundedTo(segment.duration) > target && target > 0)
      note('extinf-over-target', segment.infLine, `${segment.duration} s, and the target is ${target} s`);
  }
  // The target duration of a recording is final; a live playlist may still get longer segments.
  if (
    playlist.ended &&
    !playlist.iframesOnly &&
    segments.length >= 3 &&
    target > roundedTo(longest) + 1 &&
    target > longest * 1.5
  )
    note('targetduration-loose', where, `${target} s, and the longest segment is ${longest} s`);
  if (
    segments.length > 0 &&
    !playlist.iframesOnly &&
    playlist.partTarget === undefined &&
    (target > 10 || (target !== 6 && target > 8))
  )
    note('targetduration-apple', where, `${target} s`);
}

function judgeStart(playlist: Playlist, note: Note): void {
  const [start] = tagsOf(playlist, 'EXT-X-START');
  const offset = start && number(start, 'TIME-OFFSET');
  if (start === undefined || offset === undefined) return;
  const whole = durationOf(playlist);
  if (Math.abs(offset) > whole)
    note('start-outside', start.line, `${offset} s, and the playlist has ${Number(whole.toFixed(3))} s`);
  else if (
    isLive(playlist) &&
    playlist.type === undefined &&
    (offset < 0 ? -offset : whole - offset) < 3 * (playlist.targetDuration ?? 0)
  )
    note('start-live-edge', start.line);
}

function judgeLive(playlist: Playlist, note: Note): void {
  if (!isLive(playlist) || playlist.segments.length === 0) return;
  if (playlist.type === 'EVENT') return;
  const target = playlist.targetDuration ?? 0;
  const whole = durationOf(playlist);
  if (playlist.skipped === 0 && playlist.mediaSequence > 0 && whole + 0.5 < 3 * target)
    note('live-short', playlist.lines, `${Number(whole.toFixed(3))} s, and the target duration is ${target} s`);
  if (!has(playlist, 'EXT-X-MEDIA-SEQUENCE')) note('live-sequence', 1);
  if (
    playlist.mediaSequence > 0 &&
    has(playlist, 'EXT-X-DISCONTINUITY') &&
    !has(playlist, 'EXT-X-DISCONTINUITY-SEQUENCE')
  )
    note('discontinuity-sequence', lineOf(playlist, 'EXT-X-DISCONTINUITY'));
}

const FRAGMENTED = /\.(m4s|cmfv|cmfa|cmft|m4f)(?:[?#]|$)/i;

function judgeSegments({ segments, base }: Playlist, note: Note): void {
  let before: Segment | undefined;
  /** The last date, and the duration since. */
  let dated: number | undefined;
  let since = 0;
  let mapSeen: unknown;
  for (const segment of segments) {
    const { line, range, date } = segment;
    if (segment.infLine === 0) note('extinf-missing', line);
    else if (segment.duration === 0 && !segment.gap) note('extinf-zero', segment.infLine);
    if (segment.bitrate === 0) note('bitrate-zero', line);
    judgeAddress(segment.uri, base, line, note);
    if (range !== undefined && range.length === 0) note('byterange-empty', line);
    if (before !== undefined && before.uri === segment.uri) {
      if (range === undefined && before.range === undefined) {
        if (!segment.gap) note('segment-repeated', line);
      } else if (range?.offset !== undefined && before.range?.offset !== undefined) {
        if (range.offset === before.range.offset) note('segment-repeated', line);
        else if (range.offset > before.range.offset && range.offset < before.range.offset + before.range.length)
          note('byterange-overlap', line);
      }
    }
    if (segment.map === undefined && FRAGMENTED.test(segment.uri)) note('map-missing', line);
    if (segment.map !== undefined && segment.map !== mapSeen) {
      mapSeen = segment.map;
      if (segment.map.keys.some(({ method, iv }) => method === 'AES-128' && iv === undefined))
        note('map-iv', segment.map.tag.line);
    }
    if (date !== undefined) {
      if (dated !== undefined && before !== undefined) {
        const expected = dated + since * 1000;
        if (date <= dated && since > 0) note('date-backwards', line);
        else if (!segment.discontinuity && Math.abs(date - expected) > DRIFT_MS)
          note('date-drift', line, `${((date - expected) / 1000).toFixed(3)} s off`);
      }
      dated = date;
      since = 0;
    } else if (segment.discontinuity) dated = undefined;
    since += segment.duration;
    before = segment;
  }
}
