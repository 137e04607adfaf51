/** What an HLS presentation was declared to be, what was measured, and what the rules found. */
import type { HlsMessage, HlsReport, HlsVariant } from '../../api_types.ts';
import { bitRate, several } from '../../base/scaled.ts';
import { exceeds } from '../hls/exceeds.ts';
import { durationsShort } from './segment_durations.ts';
import {
  type Cell,
  code,
  type Column,
  line,
  mark,
  quiet,
  type Section,
  type Sentence,
  span,
  status,
  table,
} from './section.ts';

const seconds = (value: number | null): string | null => (value === null ? null : `${Math.round(value * 10) / 10} s`);
const rate = (value: number | null | undefined): string | null =>
  value === null || value === undefined ? null : bitRate(value);

export const hlsLead = ({ summary }: HlsReport): Sentence => ({
  sentence:
    `${several(summary.variants, 'variant')}, ${several(summary.segments, 'segment')} ` +
    `(${summary.segments_measured} measured), ${summary.live ? 'live' : seconds(summary.duration)}. ` +
    `${summary.must_fix} must-fix, ${summary.should_fix} should-fix, ${summary.info} info.`,
});

/** Bits a second. */
const rateColumn = (title: string, of: (variant: HlsVariant) => number | null): Column<HlsVariant> => ({
  title,
  cell: (variant) => rate(of(variant)),
  raw: of,
  right: true,
});

const measuredPeak = ({ bandwidth, measured }: HlsVariant): Cell => [
  rate(measured?.peak),
  measured && bandwidth !== null && exceeds(measured.peak, bandwidth) && mark('above what is declared'),
];

export const variantsTable = ({ variants }: HlsReport) =>
  table({
    caption: 'Variants',
    rows: variants,
    columns: [
      { title: 'Variant', cell: ({ url, iframes }) => [span(url, { most: 60 }), iframes && mark('I-frames')] },
      { title: 'Picture', cell: ({ resolution, frame_rate: fps }) => [resolution, fps !== null && `${fps} fps`] },
      { title: 'Codecs', cell: ({ codecs }) => codecs },
      rateColumn('Average', (variant) => variant.average_bandwidth),
      rateColumn('Peak', ({ bandwidth }) => bandwidth),
      { title: 'Measured peak', cell: measuredPeak, raw: ({ measured }) => measured?.peak, right: true },
    ],
  });

/** `placeOf`: where the line of a finding is shown. */
export const findingsTable = (
  { messages, summary }: HlsReport,
  placeOf?: (message: HlsMessage) => string | undefined,
) =>
  table({
    caption: 'Findings',
    rows: messages,
    columns: [
      { title: 'Level', cell: ({ level }) => status(level) },
      {
        title: 'Finding, and what to do',
        cell: ({ message, remedy = '', count = 1 }) => [
          message,
          count > 1 && quiet(`${count} times in this playlist`),
          remedy !== '' && line(remedy),
        ],
      },
      { title: 'Rule', cell: ({ code: name, rule }) => [code(name), rule] },
      {
        title: 'Where',
        cell: (message) => span(`Line ${message.line} of ${message.url}`, { most: 70, to: placeOf?.(message) }),
      },
    ],
    none: { nothing: 'No rule found anything', why: `${several(summary.segments_measured, 'segment')} measured.` },
  });

export const unlisted = ({ summary: { untold } }: HlsReport): Sentence => ({
  sentence: untold > 0 && `${several(untold, 'further finding')} not in the result.`,
});

/** `shown`: its place among them, and where each is shown. */
export const playlistsTable = ({ playlists }: HlsReport, shown?: { at: number; placeOf: (at: number) => string }) =>
  table({
    caption: 'Playlists',
    rows: playlists.map((playlist, at) => ({ ...playlist, at })),
    columns: [
      {
        title: 'Playlist',
        cell: ({ url, at }) => [
          span(url, { most: 60, to: shown?.placeOf(at) }),
          at === shown?.at && mark('shown below'),
        ],
      },
      { title: 'Role', cell: ({ role }) => role },
      { title: 'Lines', cell: ({ lines }) => lines, right: true },
      { title: 'Segments', cell: ({ segments }) => segments, right: true },
      { title: 'Segment durations', cell: durationsShort },
      { title: 'Target', cell: ({ target_duration: target }) => seconds(target), right: true },
      { title: 'Duration', cell: ({ duration }) => seconds(duration), right: true },
      {
        title: 'Findings',
        cell: ({ findings: { must_fix: must, should_fix: should, info } }) => must + should + info,
        right: true,
      },
    ],
  });

export const hls = (report: HlsReport): Section => ({
  title: 'HLS',
  parts: [hlsLead(report), findingsTable(report), unlisted(report), variantsTable(report), playlistsTable(report)],
});
