/** The report, as data and as text: what was read, the declarations of each variant, and the findings. */
import { getOrMake } from '../../base/get_or_make.ts';
import { durationOf, has, isLive, number, text, type Playlist, type Variant } from './playlist.ts';
import type { Level } from './rule.ts';
import { NEWEST_VERSION } from './rules/version.ts';
import { shownUrl } from './load.ts';
import type { Presentation } from './validate.ts';
import { MOST_DURATIONS, MOST_TEXT, shareOf, shownText } from './shown_text.ts';
import { HLS_TOOL, HLS_VERSION, REFERENCE_VERSION } from './built_in.ts';
import type { HlsReport, PlaylistReport, VariantReport, Message } from './schema.ts';

/** Further variants are counted but not listed: no genuine playlist comes near this. */
const MOST_VARIANTS = 2_000;

type Total = keyof PlaylistReport['findings'];
const totalOf = (level: Level): Total => level.replace('-', '_') as Total;

export function makeReport({ main, members, findings, measured, reloads }: Presentation): HlsReport {
  const messages = findings.messages();
  const perUrl = new Map<string, PlaylistReport['findings']>();
  for (const { url, level, count } of messages) {
    const known = getOrMake(perUrl, url, () => ({ must_fix: 0, should_fix: 0, info: 0 }));
    known[totalOf(level)] += count === undefined ? 1 : 0;
  }
  const read = [main, ...members.map(({ playlist }) => playlist)];
  const mostDurations = shareOf(
    read.map(({ segments }) => segments.length),
    MOST_DURATIONS,
  );
  const mostText = shareOf(
    read.map(({ head = '' }) => head.length),
    MOST_TEXT,
  );
  const measuredOf = (key: string): PlaylistReport['measured'] => {
    const found = measured.playlists.get(key);
    return found === undefined ? null : { ...found, durations: found.durations.slice(0, mostDurations) };
  };
  const of = (playlist: Playlist, role: PlaylistReport['role'], key: string): PlaylistReport => ({
    ...describe(playlist),
    role,
    segment_durations: durationsOf(playlist, mostDurations),
    text: playlist.head === undefined ? null : shownText(playlist.head, mostText, playlist.lines),
    findings: perUrl.get(playlist.url) ?? { must_fix: 0, should_fix: 0, info: 0 },
    measured: measuredOf(key),
  });
  const playlists = [of(main, main.kind, ''), ...members.map(({ url, playlist, role }) => of(playlist, role, url))];
  const media = main.kind === 'media' ? [main] : members.map(({ playlist }) => playlist);
  const mustFix = messages.filter(({ level }) => level === 'must-fix');
  const totals = findings.totals();
  const sampled = [...measured.playlists.values()];
  const error = mustFix.length === 0 ? undefined : `${totals['must-fix']} must-fix: ${mustFix[0]?.message}`;
  return {
    success: mustFix.length === 0,
    ...(error === undefined ? {} : { error }),
    cli_output: null,
    tool: HLS_TOOL,
    version: HLS_VERSION,
    reference_version: REFERENCE_VERSION,
    playlists,
    variants: main.variants.slice(0, MOST_VARIANTS).map((variant) => variantOf(variant, main, measured)),
    messages,
    summary: {
      must_fix: totals['must-fix'],
      should_fix: totals['should-fix'],
      info: totals.info,
      untold: totals.untold,
      playlists: playlists.length,
      variants: main.variants.length,
      segments: media.reduce((sum, { segments }) => sum + segments.length, 0),
      segments_measured: sampled.reduce((sum, { segments }) => sum + segments, 0),
      bytes_measured: sampled.reduce((sum, { bytes }) => sum + bytes, 0),
      reloads,
      live: media.some(isLive),
      protocol_version: Math.max(1, ...[main, ...media].map(({ version }) => version ?? 1)),
      newest_protocol_version: NEWEST_VERSION,
      duration: round(Math.max(0, ...media.map(durationOf))),
    },
  };
}

const round = (value: number): number => Number(value.toFixed(3));

function durationsOf({ kind, segments }: Playlist, most: number): PlaylistReport['segment_durations'] {
  if (kind !== 'media') return null;
  const declared = segments.slice(0, most).map(({ duration }) => round(duration));
  return { declared, left_out: segments.length - declared.length };
}

type Described = Omit<PlaylistReport, 'role' | 'findings' | 'segment_durations' | 'text' | 'measured'>;

function describe(playlist: Playlist): Described {
  const media = playlist.kind === 'media';
  const { segments } = playlist;
  return {
    url: playlist.url,
    version: playlist.version ?? null,
    lines: playlist.lines,
    bytes: playlist.bytes,
    live: isLive(playlist),
    type: playlist.type ?? null,
    target_duration: playlist.targetDuration ?? null,
    media_sequence: media ? Number(playlist.mediaSequence) : null,
    segments: media ? segments.length : null,
    duration: media ? round(durationOf(playlist)) : null,
    discontinuities: media ? segments.filter(({ discontinuity }) => discontinuity).length : null,
    gaps: media ? segments.filter(({ gap }) => gap).length : null,
    encryption: [...new Set(segments.flatMap(({ keys }) => keys.map(({ method }) => method)))],
    init_section: segments.some(({ map }) => map !== undefined),
    byte_ranges: segments.some(({ range }) => range !== undefined),
    low_latency: playlist.partTarget !== undefined,
    program_date_time: has(playlist, 'EXT-X-PROGRAM-DATE-TIME'),
    date_ranges: playlist.counts.get('EXT-X-DATERANGE')?.count ?? 0,
  };
}

function variantOf(
  { tag, uri, line, iframes }: Variant,
  main: Playlist,
  measured: Presentation['measured'],
): VariantReport {
  const url = URL.canParse(uri, main.base) ? new URL(uri, main.base).href : uri;
  return {
    url: shownUrl(url),
    iframes,
    bandwidth: number(tag, 'BANDWIDTH') ?? null,
    average_bandwidth: number(tag, 'AVERAGE-BANDWIDTH') ?? null,
    codecs: text(tag, 'CODECS') ?? null,
    resolution: text(tag, 'RESOLUTION') ?? null,
    frame_rate: number(tag, 'FRAME-RATE') ?? null,
    video_range: text(tag, 'VIDEO-RANGE') ?? null,
    audio: text(tag, 'AUDIO') ?? null,
    subtitles: text(tag, 'SUBTITLES') ?? null,
    closed_captions: text(tag, 'CLOSED-CAPTIONS') ?? null,
    line,
    measured: measured.variants.get(line) ?? null,
  };
}

const WIDTH = 100;

export function textReport(report: HlsReport): string {
  const { summary } = report;
  const { must_fix, should_fix, info, playlists, segments, segments_measured, bytes_measured, reloads } = summary;
  const read = [
    `${playlists} playlist${playlists === 1 ? '' : 's'}`,
    `${segments} segments`,
    time(summary.duration),
    ...(summary.live ? ['live'] : []),
    `protocol version ${summary.protocol_version}`,
  ];
  const done = [
    read.join(', '),
    ...(segments_measured > 0 ? [`${segments_measured} segments measured (${megabytes(bytes_measured)})`] : []),
    ...(reloads > 0 ? [`${reloads} reloads`] : []),
  ];
  const lines = [
    `${report.tool} ${report.version}   ${report.playlists[0]?.url ?? ''}`,
    '',
    `${report.success ? 'OK' : 'FAILED'}: ${must_fix} must fix, ${should_fix} should fix, ${info} notes`,
    done.join('; '),
  ];
  if (report.variants.length > 0)
    lines.push(
      '',
      'Variants',
      ...table([
        ['', 'bandwidth', 'average', 'measured', 'size', 'fps', 'codecs', 'playlist'],
        ...report.variants.map(variantRow),
      ]),
    );
  lines.push(
    '',
    'Playlists',
    ...table([['', 'segments', 'target', 'length', 'found', 'playlist'], ...report.playlists.map(playlistRow)]),
  );
  for (const [level, title] of [
    ['must-fix', 'Must fix'],
    ['should-fix', 'Should fix'],
    ['info', 'Notes'],
  ] as const) {
    const found = report.messages.filter((message) => message.level === level);
    if (found.length > 0) lines.push('', `${title} (${found.length})`, ...found.flatMap(messageLines));
  }
  if (summary.untold > 0) lines.push('', `and ${summary.untold} more that are not told here`);
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

const nameOf = (url: string): string => url.split('?')[0]?.split('/').slice(-2).join('/') ?? url;

function messageLines(found: Message): string[] {
  const { message, remedy, url, line, column, code, apple_code: apple, rule, count } = found;
  const place = `${nameOf(url)}:${line}${column === undefined ? '' : `:${column}`}`;
  return [
    ...wrap(`${message}${count === undefined ? '' : ` (${count} times in all)`}`, '  '),
    ...(remedy === undefined ? [] : wrap(remedy, '      ')),
    `      ${place}   ${code}, ${rule}${apple === undefined ? '' : `, Apple ${apple}`}`,
  ];
}

function wrap(message: string, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of message.split(' ')) {
    if (line.length + word.length > WIDTH && line.trim() !== '') {
      lines.push(line);
      line = `${indent}  `;
    }
    line += `${line.trim() === '' ? '' : ' '}${word}`;
  }
  return [...lines, line];
}

const bits = (rate: number | null): string =>
  rate === null ? '-' : rate >= 1e6 ? `${(rate / 1e6).toFixed(2)}M` : `${Math.round(rate / 1000)}k`;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function time(seconds: number): string {
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0
    ? `${h}:${String(m).padStart(2, '0')}:${String(s).padStart(2, '0')}`
    : `${m}:${String(s).padStart(2, '0')}`;
}

const variantRow = (variant: VariantReport): string[] => [
  variant.iframes ? 'I' : '',
  bits(variant.bandwidth),
  bits(variant.average_bandwidth),
  variant.measured === null ? '-' : `${bits(variant.measured.peak)} / ${bits(variant.measured.average)}`,
  variant.resolution ?? '-',
  variant.frame_rate === null ? '-' : String(variant.frame_rate),
  variant.codecs ?? '-',
  nameOf(variant.url),
];

const playlistRow = ({ url, role, segments, target_duration, duration, findings }: PlaylistReport): string[] => [
  role,
  segments === null ? '-' : String(segments),
  target_duration === null ? '-' : `${target_duration} s`,
  duration === null ? '-' : time(duration),
  `${findings.must_fix}/${findings.should_fix}/${findings.info}`,
  nameOf(url),
];

function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`);
}
