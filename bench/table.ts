/** The table, on the terminal as in docs/reports/measurements.md. */
import { ratioOf, type Row } from './measurement.ts';
import { reached, type Range } from './ranges.ts';
import type { Summary } from './statistics.ts';

const figure = (value: number, unit: Row['unit']): string =>
  unit === 'ms' && value >= 100 ? value.toFixed(0) : unit === '×' ? value.toFixed(2) : value.toFixed(1);

function figures(values: Summary, unit: Row['unit']): string[] {
  const show = (value: number) => figure(value, unit);
  return values.count === 1
    ? [show(values.p50), '', '']
    : [show(values.p50), show(values.p99), `${show(values.least)} to ${show(values.most)}`];
}

const HEAD = [
  'what',
  'unit',
  'n',
  'p50',
  'p99',
  'spread',
  'compared with',
  'its p50',
  'ratio',
  'aim',
  'reached',
] as const;

function cells(row: Row, range: Range | undefined): string[] {
  const ratio = ratioOf(row);
  const held = reached(row, range);
  return [
    row.what + (row.note ? ` (${row.note})` : ''),
    row.unit,
    String(row.values.count),
    ...figures(row.values, row.unit),
    row.against?.what ?? '',
    row.against ? figure(row.against.values.p50, row.unit) : '',
    ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    range?.aim ?? '',
    held === undefined ? '' : held ? 'yes' : 'NO',
  ];
}

const markdown = (lines: readonly (readonly string[])[]): string =>
  lines.map((line) => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');

export const table = (rows: readonly Row[], ranges: Readonly<Record<string, Range>>): string =>
  markdown([HEAD, HEAD.map(() => '---'), ...rows.map((row) => cells(row, ranges[row.name]))]);
