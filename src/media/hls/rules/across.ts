/** Rules across the playlists of one presentation. */
import { durationOf, has, isLive, lineOf, tagsOf, text, type Playlist } from '../playlist.ts';
import { info, must, should, type Rule } from '../rule.ts';
import { words } from './codecs.ts';

const REPACKAGE = 'Package all variants in one run, with the same cuts.';

export const ACROSS_RULES = {
  'playlist-unreadable': must('6.2.4')`A playlist cannot be read.
    Publish the playlist before it is named, and check its address.`,
  'playlist-nested': must('6.2.4')`A multivariant playlist names another multivariant playlist.
    Name media playlists only.`,
  'content-type': must('4')`The Content-Type is not that of a playlist, and the path does not end with .m3u8 or .m3u.
    Serve playlists as application/vnd.apple.mpegurl.`,
  'target-differs': must('6.2.4')`The target duration differs from that of another media playlist. ${REPACKAGE}`,
  'type-differs': must('6.2.4')`EXT-X-PLAYLIST-TYPE differs from that of another media playlist. ${REPACKAGE}`,
  'end-differs': should('6.2.4')`One media playlist has ended, and another goes on.
    Finish all variants; check the one that stopped.`,
  'discontinuities-differ': must('6.2.4')`The number of discontinuities differs from that of another variant.
    ${REPACKAGE}`,
  'discontinuity-sequence-differs': must('6.2.4')`
    The discontinuity sequence number differs from that of another variant.
    ${REPACKAGE}`,
  'durations-differ': should('6.2.4')`The duration differs from that of another variant. ${REPACKAGE}`,
  'segments-differ': info('6.2.4')`Variants are cut at different places. ${REPACKAGE}`,
  'dates-some': must('6.2.4')`EXT-X-PROGRAM-DATE-TIME is missing, although another media playlist has it.
    Write EXT-X-PROGRAM-DATE-TIME in all media playlists.`,
  'dates-differ': should('6.2.4')`Two variants give a moment different dates.
    Take the dates of all variants from one clock.`,
  'iframes-tag': must('4.4.6.3')`The playlist of an I-frame variant has no EXT-X-I-FRAMES-ONLY.
    Add EXT-X-I-FRAMES-ONLY.`,
  'iframes-variant': must('4.4.3.6')`A playlist of I-frames is named by EXT-X-STREAM-INF.
    Name it with EXT-X-I-FRAME-STREAM-INF.`,
  'gap-everywhere': should('4.4.4.7')`A segment is a gap in every variant. Restore the segment in one variant.`,
  'hevc-transport': should('video encoding')`HEVC is in MPEG-2 transport streams.
    Package HEVC as fragmented MP4: with ffmpeg -hls_segment_type fmp4.`,
  'session-key-stray': info('4.4.6.5')`A session key is not the key of any media playlist.
    Remove the session key, or use it.`,
  'reports-missing': should('B.1')`A low-latency playlist has no reports on the other renditions.
    Add EXT-X-RENDITION-REPORT for each other rendition.`,
  'playlists-unread': info('6.2.4')`Not every playlist was read, for want of time or above the limits.
    Validate the rest with a request of its own.`,
} satisfies Record<string, Rule>;

/** A media playlist in its presentation. */
export interface Member {
  url: string;
  playlist: Playlist;
  role: 'variant' | 'iframes' | 'audio' | 'video' | 'subtitles';
  codecs: string | undefined;
}

/** Notes a finding at a position in one of the playlists. */
export type NoteIn = (playlist: Playlist, rule: keyof typeof ACROSS_RULES, line: number, detail?: string) => void;

const NEAR_S = 0.5;
const nameOf = ({ url }: Playlist): string => url.split('?')[0]?.split('/').at(-1) ?? url;

export function judgeAcross(main: Playlist, members: readonly Member[], note: NoteIn): void {
  const read = members.filter(({ playlist }) => playlist.kind === 'media' && playlist.segments.length > 0);
  for (const { playlist, role } of read) {
    if (role === 'iframes' && !playlist.iframesOnly) note(playlist, 'iframes-tag', 1);
    if (role === 'variant' && playlist.iframesOnly)
      note(playlist, 'iframes-variant', lineOf(playlist, 'EXT-X-I-FRAMES-ONLY'));
  }
  const timed = read.filter(({ role }) => role !== 'iframes');
  compareHeads(timed, note);
  const pictured = timed.filter(({ role }) => role === 'variant' || role === 'video');
  compareTimes(
    timed.filter(({ role }) => role !== 'subtitles').map(({ playlist }) => playlist),
    note,
  );
  compareGaps(
    pictured.map(({ playlist }) => playlist),
    note,
  );
  for (const { playlist, codecs } of pictured) {
    if (
      words(codecs).some((codec) => /^(hvc1|hev1|dvh1|dvhe)/.test(codec)) &&
      playlist.segments[0]?.map === undefined &&
      /\.(ts|m2ts|mts)(\?|$)/i.test(playlist.segments[0]?.uri ?? '')
    )
      note(playlist, 'hevc-transport', playlist.segments[0]?.line ?? 1);
  }
  const keys = new Set(read.flatMap(({ playlist }) => tagsOf(playlist, 'EXT-X-KEY').map((tag) => text(tag, 'URI'))));
  if (keys.size > 0)
    for (const tag of tagsOf(main, 'EXT-X-SESSION-KEY'))
      if (!keys.has(text(tag, 'URI'))) note(main, 'session-key-stray', tag.line);
  const low = timed.filter(({ playlist }) => isLive(playlist) && has(playlist, 'EXT-X-PART'));
  if (low.length > 1)
    for (const { playlist } of low)
      if (!has(playlist, 'EXT-X-RENDITION-REPORT')) note(playlist, 'reports-missing', playlist.lines);
}

/** Notes what a playlist has otherwise than another one. */
const differences =
  (one: Playlist, other: Playlist, note: NoteIn) =>
  (rule: keyof typeof ACROSS_RULES, tag: string, of: (playlist: Playlist) => string | number): void => {
    const [own, its] = [of(other), of(one)];
    if (own !== its) note(other, rule, lineOf(other, tag), `${own}, and ${nameOf(one)} has ${its}`);
  };

function compareHeads(members: readonly Member[], note: NoteIn): void {
  // Subtitles may be segmented differently, so they have their own target duration.
  const [model] = members.filter(({ role }) => role !== 'subtitles');
  if (model === undefined) return;
  const one = model.playlist;
  const dated = members.find(({ playlist }) => has(playlist, 'EXT-X-PROGRAM-DATE-TIME'));
  for (const { playlist: other, role } of members) {
    const differ = differences(one, other, note);
    if (role !== 'subtitles')
      differ('target-differs', 'EXT-X-TARGETDURATION', ({ targetDuration }) => `${targetDuration} s`);
    differ('type-differs', 'EXT-X-PLAYLIST-TYPE', ({ type = 'none' }) => type);
    if (other.ended !== one.ended)
      note(
        other,
        'end-differs',
        other.lines,
        `${other.ended ? 'ended' : 'goes on'}, and ${nameOf(one)} ${one.ended ? 'has ended' : 'goes on'}`,
      );
    if (dated !== undefined && role !== 'subtitles' && !has(other, 'EXT-X-PROGRAM-DATE-TIME'))
      note(other, 'dates-some', 1, `${nameOf(dated.playlist)} has it`);
  }
}

const discontinuities = ({ segments }: Playlist): number =>
  segments.reduce((sum, { discontinuity }, index) => sum + (discontinuity && index > 0 ? 1 : 0), 0);

function compareTimes([one, ...others]: readonly Playlist[], note: NoteIn): void {
  if (one === undefined) return;
  for (const other of others) {
    const differ = differences(one, other, note);
    if (one.ended && other.ended) {
      const [own, its] = [durationOf(other), durationOf(one)];
      const slack = Math.max(NEAR_S, 0.01 * its, 0.2 * (one.targetDuration ?? 0));
      if (Math.abs(own - its) > slack)
        note(
          other,
          'durations-differ',
          other.lines,
          `${Number(own.toFixed(3))} s, and ${nameOf(one)} has ${Number(its.toFixed(3))} s`,
        );
      else if (other.segments.length === one.segments.length) {
        const at = other.segments.findIndex(
          ({ duration }, index) => Math.abs(duration - (one.segments[index]?.duration ?? duration)) > NEAR_S,
        );
        if (at !== -1)
          note(other, 'segments-differ', other.segments[at]?.infLine ?? 1, `the first one after ${at} segments`);
      }
      differ('discontinuities-differ', 'EXT-X-DISCONTINUITY', discontinuities);
      // A playlist read a moment later may have advanced: only equal windows are comparable.
    } else if (isLive(one) && isLive(other) && one.mediaSequence === other.mediaSequence)
      differ(
        'discontinuity-sequence-differs',
        'EXT-X-DISCONTINUITY-SEQUENCE',
        ({ discontinuitySequence }) => discontinuitySequence,
      );
    const [date, its] = [other.segments[0]?.date, one.segments[0]?.date];
    if (
      date !== undefined &&
      its !== undefined &&
      other.mediaSequence === one.mediaSequence &&
      Math.abs(date - its) > 1_000
    )
      note(
        other,
        'dates-differ',
        other.segments[0]?.line ?? 1,
        `${((date - its) / 1000).toFixed(3)} s from ${nameOf(one)}`,
      );
  }
}

function compareGaps(playlists: readonly Playlist[], note: NoteIn): void {
  const [one] = playlists;
  if (
    one === undefined ||
    playlists.length < 2 ||
    playlists.some(
      ({ segments, mediaSequence }) => segments.length !== one.segments.length || mediaSequence !== one.mediaSequence,
    )
  )
    return;
  for (const [index, segment] of one.segments.entries()) {
    if (segment.gap && playlists.every(({ segments }) => segments[index]?.gap === true)) {
      note(one, 'gap-everywhere', segment.line);
      return;
    }
  }
}
