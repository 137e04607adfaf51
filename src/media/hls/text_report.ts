/** The report as text for a terminal. */
import type { HlsReport, Message, PlaylistReport, VariantReport } from './schema.ts';

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

function messageLines({ message, url, line, column, code, rule, count }: Message): string[] {
  const place = `${nameOf(url)}:${line}${column === undefined ? '' : `:${column}`}`;
  return [
    ...wrap(`${message}${count === undefined ? '' : ` (${count} times in all)`}`, '  '),
    `      ${place}   ${code}, ${rule}`,
  ];
}

function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
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
