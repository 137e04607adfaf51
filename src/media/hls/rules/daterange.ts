/** Rules for date ranges, including interstitials. */
import { has, number, tagsOf, text, type Playlist, type Tag } from '../playlist.ts';
import { timeOfDate } from '../grammar.ts';
import { must, quote, should, type Rule } from '../rule.ts';
import type { Note } from './catalog.ts';

export const DATERANGE_RULES = {
  'daterange-start': must('4.4.5.1')`A date range has no START-DATE. Add START-DATE.`,
  'daterange-dates': must('4.4.5.1')`A playlist with date ranges has no EXT-X-PROGRAM-DATE-TIME.
    Add EXT-X-PROGRAM-DATE-TIME to the first segment.`,
  'daterange-end': must('4.4.5.1')`A date range ends before it begins. Correct END-DATE or START-DATE.`,
  'daterange-duration': must('4.4.5.1')`END-DATE is not START-DATE and DURATION.
    Remove one of DURATION and END-DATE, or make them agree.`,
  'daterange-next-class': must('4.4.5.1')`A date range with END-ON-NEXT has no CLASS. Add CLASS.`,
  'daterange-next-end': must('4.4.5.1')`A date range with END-ON-NEXT has DURATION or END-DATE.
    Remove DURATION and END-DATE, or END-ON-NEXT.`,
  'daterange-changed': must('4.4.5.1')`Date ranges of one ID have different values for an attribute.
    Use a new ID, or the same values.`,
  'daterange-cue': must('4.4.5.1')`CUE names both PRE and POST. Keep PRE or POST.`,
  'interstitial-asset': must('D.2')`An interstitial does not have exactly one of X-ASSET-URI and X-ASSET-LIST.
    Keep X-ASSET-URI or X-ASSET-LIST.`,
  'interstitial-limit': should('D.2')`X-PLAYOUT-LIMIT is 0. Write a limit above 0, or none.`,
  'interstitial-class': should('D.2')`A date range has attributes of an interstitial, but not its class.
    Set CLASS to com.apple.hls.interstitial.`,
} satisfies Record<string, Rule>;

const INTERSTITIAL = 'com.apple.hls.interstitial';

export function judgeDateRanges(playlist: Playlist, note: Note): void {
  const ranges = tagsOf(playlist, 'EXT-X-DATERANGE');
  if (ranges.length === 0) return;
  if (!has(playlist, 'EXT-X-PROGRAM-DATE-TIME')) note('daterange-dates', ranges[0]?.line ?? 1);
  const byId = new Map<string, Map<string, string>>();
  for (const tag of ranges) {
    const id = text(tag, 'ID') ?? '';
    const known = byId.get(id) ?? new Map<string, string>();
    if (!byId.has(id)) {
      byId.set(id, known);
      if (text(tag, 'START-DATE') === undefined) note('daterange-start', tag.line);
    }
    for (const [name, { value }] of tag.attributes) {
      const before = known.get(name);
      if (before !== undefined && before !== value) note('daterange-changed', tag.line, `ID ${quote(id)}: ${name}`);
      else known.set(name, value);
    }
    judgeRange(tag, note);
  }
}

function judgeRange(tag: Tag, note: Note): void {
  const { line } = tag;
  const start = timeOfDate(text(tag, 'START-DATE') ?? '');
  const end = timeOfDate(text(tag, 'END-DATE') ?? '');
  const duration = number(tag, 'DURATION');
  if (end < start) note('daterange-end', line);
  else if (duration !== undefined && Math.abs(end - start - duration * 1000) > 1) note('daterange-duration', line);
  if (text(tag, 'END-ON-NEXT') === 'YES') {
    if (text(tag, 'CLASS') === undefined) note('daterange-next-class', line);
    if (duration !== undefined || text(tag, 'END-DATE') !== undefined) note('daterange-next-end', line);
  }
  const cue = (text(tag, 'CUE') ?? '').split(',');
  if (cue.includes('PRE') && cue.includes('POST')) note('daterange-cue', line);
  const assets = ['X-ASSET-URI', 'X-ASSET-LIST'].filter((name) => tag.attributes.has(name));
  if (text(tag, 'CLASS') !== INTERSTITIAL) {
    if (assets.length > 0) note('interstitial-class', line);
    return;
  }
  if (assets.length !== 1) note('interstitial-asset', line, assets.length === 0 ? 'neither' : 'both');
  if (number(tag, 'X-PLAYOUT-LIMIT') === 0) note('interstitial-limit', line);
}
