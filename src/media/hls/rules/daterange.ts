/** Rules for date ranges, including interstitials. */
import { has, number, tagsOf, text, type Playlist, type Tag } from '../playlist.ts';
import { timeOfDate } from '../grammar.ts';
import { must, quote, should, type NoteOf, type Rule } from '../rule.ts';
import { vod } from './example.ts';

type Note = NoteOf<keyof typeof DATERANGE_RULES>;

const PDT = '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z';
const range = (attributes: string): string =>
  vod(PDT, `#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"${attributes}`);
const interstitial = (attributes: string): string => range(`,CLASS="com.apple.hls.interstitial"${attributes}`);
const ASSET = ',X-ASSET-URI="ad.m3u8"';

export const DATERANGE_RULES = {
  'daterange-start': must(
    '4.4.5.1',
    'A date range has no START-DATE',
    'Add START-DATE.',
    vod(PDT, '#EXT-X-DATERANGE:ID="1",DURATION=3'),
    range(',DURATION=3'),
  ),
  'daterange-dates': must(
    '4.4.5.1',
    'A playlist with date ranges has no EXT-X-PROGRAM-DATE-TIME',
    'Add EXT-X-PROGRAM-DATE-TIME to the first segment.',
    vod('#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"'),
    range(''),
  ),
  'daterange-end': must(
    '4.4.5.1',
    'A date range ends before it begins',
    'Correct END-DATE or START-DATE.',
    range(',END-DATE="2025-12-31T00:00:00Z"'),
    range(',END-DATE="2026-01-01T00:00:03Z"'),
  ),
  'daterange-duration': must(
    '4.4.5.1',
    'END-DATE is not START-DATE and DURATION',
    'Remove one of DURATION and END-DATE, or make them agree.',
    range(',DURATION=5,END-DATE="2026-01-01T00:00:03Z"'),
    range(',DURATION=3,END-DATE="2026-01-01T00:00:03Z"'),
  ),
  'daterange-next-class': must(
    '4.4.5.1',
    'A date range with END-ON-NEXT has no CLASS',
    'Add CLASS.',
    range(',END-ON-NEXT=YES'),
    range(',CLASS="a",END-ON-NEXT=YES'),
  ),
  'daterange-next-end': must(
    '4.4.5.1',
    'A date range with END-ON-NEXT has DURATION or END-DATE',
    'Remove DURATION and END-DATE, or END-ON-NEXT.',
    range(',CLASS="a",END-ON-NEXT=YES,DURATION=3'),
    range(',CLASS="a",END-ON-NEXT=YES'),
  ),
  'daterange-changed': must(
    '4.4.5.1',
    'Date ranges of one ID have different values for an attribute',
    'Use a new ID, or the same values.',
    vod(
      PDT,
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z",X-A="1"',
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z",X-A="2"',
    ),
    vod(
      PDT,
      '#EXT-X-DATERANGE:ID="1",START-DATE="2026-01-01T00:00:00Z"',
      '#EXT-X-DATERANGE:ID="1",DURATION=3,START-DATE="2026-01-01T00:00:00Z"',
    ),
  ),
  'daterange-cue': must(
    '4.4.5.1',
    'CUE names both PRE and POST',
    'Keep PRE or POST.',
    range(',CUE="PRE,POST"'),
    range(',CUE="PRE,ONCE"'),
  ),
  'interstitial-asset': must(
    'D.2',
    'An interstitial does not have exactly one of X-ASSET-URI and X-ASSET-LIST',
    'Keep X-ASSET-URI or X-ASSET-LIST.',
    interstitial(''),
    interstitial(ASSET),
  ),
  'interstitial-limit': should(
    'D.2',
    'X-PLAYOUT-LIMIT is 0',
    'Write a limit above 0, or none.',
    interstitial(`${ASSET},X-PLAYOUT-LIMIT=0`),
    interstitial(`${ASSET},X-PLAYOUT-LIMIT=15.5`),
  ),
  'interstitial-class': should(
    'D.2',
    'A date range has attributes of an interstitial, but not its class',
    'Set CLASS to com.apple.hls.interstitial.',
    range(',CLASS="ads",X-ASSET-URI="ad.m3u8"'),
    interstitial(ASSET),
  ),
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
