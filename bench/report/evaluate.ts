/** The quality of the report on files that were not used for training. Writes the tables of docs/reports/report.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { Model, type Weights } from '../../src/media/report/trees.ts';
import { decide } from '../../src/media/report/judge.ts';
import { report } from '../../src/media/report/report.ts';
import { calibrationError, type Answered } from './calibration.ts';
import { examples, type Example } from './collect.ts';
import { rowsOf, splitOf, type LabelledRow } from './rows.ts';
import { costTable } from './times.ts';

const root = join(import.meta.dirname, '..', '..');
const page = join(root, 'docs', 'reports', 'report.md');
const weightsFile = join(root, 'src', 'media', 'report', 'weights.json');

interface Tally {
  cases: number;
  model: number;
  ffprobe: number;
  mediainfo: number;
  rules: number;
  neither: number;
}
export interface Judged {
  row: LabelledRow;
  right: boolean;
  confidence: number;
}

export function judged(rows: readonly LabelledRow[], model: Model): Judged[] {
  return rows.map((row) => {
    const seen = model.row(row.features);
    if (row.agreement !== 'disputed')
      return { row, right: row.right.ffprobe || row.right.mediainfo, confidence: model.ask(row.agreement, seen) };
    const [a, b] = [model.ask('ffprobe', seen), model.ask('mediainfo', seen)];
    const { chosen, right } = decide(row.field, row.ruled, { ffprobe: a, mediainfo: b });
    return { row, right: row.right[chosen], confidence: right[chosen] };
  });
}

export function tallies(all: readonly Judged[]): Map<string, Tally> {
  const by = new Map<string, Tally>();
  for (const { row, right } of all) {
    for (const name of [row.field, 'all']) {
      const tally = by.get(name) ?? { cases: 0, model: 0, ffprobe: 0, mediainfo: 0, rules: 0, neither: 0 };
      by.set(name, tally);
      const decidable = row.right.ffprobe || row.right.mediainfo;
      if (!decidable) {
        tally.neither += row.weight;
        continue;
      }
      tally.cases += row.weight;
      tally.model += right ? row.weight : 0;
      tally.ffprobe += row.right.ffprobe ? row.weight : 0;
      tally.mediainfo += row.right.mediainfo ? row.weight : 0;
      tally.rules += row.right[row.ruled] ? row.weight : 0;
    }
  }
  return by;
}

export const answersOf = (all: readonly Judged[]): Answered[] =>
  all.map(({ row: { file, field, weight }, right, confidence }) => ({ file, field, weight, right, confidence }));

const percent = (of: number, all: number): string => (all > 0 ? `${((100 * of) / all).toFixed(1)} %` : '–');

function fieldTable(all: readonly Judged[]): string[] {
  const rows = [...tallies(all)]
    .filter(([name, { cases }]) => name === 'all' || cases >= 1)
    .sort(([a, one], [b, other]) => (a === 'all' ? -1 : b === 'all' ? 1 : other.cases - one.cases));
  return [
    '| field | disputed | report | always ffprobe | always mediainfo | rules by hand | neither right |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(
      ([name, { cases, model, ffprobe, mediainfo, rules, neither }]) =>
        `| ${name === 'all' ? '**all**' : `\`${name}\``} | ${cases.toFixed(1)} | ` +
        `${percent(model, cases)} | ${percent(ffprobe, cases)} | ` +
        `${percent(mediainfo, cases)} | ${percent(rules, cases)} | ` +
        `${neither.toFixed(1)} |`,
    ),
  ];
}

function warningsTable(files: readonly Example[]): string[] {
  const codes = ['truncated', 'trailing-data', 'extension-mismatch', 'variable-frame-rate'];
  const counts = new Map(codes.map((code) => [code, { due: 0, given: 0, both: 0 }]));
  for (const { file, truth, readings } of files) {
    const [a, b] = [readings['ffprobe 9.0'], readings['mediainfo 26.10']];
    const made = report({
      ffprobe: a ? { version: '9.0', output: JSON.parse(a) } : undefined,
      mediainfo: b ? { version: '26.10', output: JSON.parse(b) } : undefined,
      diff: true,
      prefer: null,
      extension: file.split('.').pop(),
    });
    if (!made) continue;
    for (const [code, count] of counts) {
      const given = made.warnings.some((warning) => warning.code === code);
      const due = truth.warnings.includes(code) || (code === 'trailing-data' && truth.damage === 'tail-garbage');
      count.due += due ? 1 : 0;
      count.given += given ? 1 : 0;
      count.both += due && given ? 1 : 0;
    }
  }
  return [
    '| warning | files it should be on | found | given in all | of these right |',
    '|---|---|---|---|---|',
    ...[...counts].map(
      ([code, { due, given, both }]) =>
        `| \`${code}\` | ${due} | ${percent(both, due)} | ${given} | ${percent(both, given)} |`,
    ),
  ];
}

/**
 * Disputes in which both tools are right. For a duration (with or without the padding of the last frame, from the first
 * picture or from zero) two different values may both be right.
 */
export function falseAlarms(
  rows: readonly LabelledRow[],
): { what: string; compared: number; alarmed: number; files: number; fields: string[] }[] {
  const bothRight = rows.filter(({ right }) => right.ffprobe && right.mediainfo);
  return (
    [
      ['one value', true],
      ['a span', false],
    ] as const
  ).map(([what, exact]) => {
    const compared = bothRight.filter((row) => row.exact === exact);
    const alarmed = compared.filter(({ agreement }) => agreement === 'disputed');
    return {
      what,
      compared: compared.length,
      alarmed: alarmed.length,
      files: new Set(alarmed.map(({ file }) => file)).size,
      fields: [...new Set(alarmed.map(({ field }) => field))],
    };
  });
}

/** Fields in which one tool alone, or the rules, would have been right more often than the report. */
export const fieldsBehind = (all: readonly Judged[]): string[] =>
  [...tallies(all)]
    .filter(
      ([name, { cases, model, ffprobe, mediainfo, rules }]) =>
        name !== 'all' && cases >= 1 && model < Math.max(ffprobe, mediainfo, rules) - 1e-9,
    )
    .map(([name]) => `\`${name}\``);

export function worseThan(all: readonly Judged[]): string {
  const behind = fieldsBehind(all);
  return behind.length === 0
    ? 'In no field of this table is any of the three better than the model.'
    : `One of the three is better than the model in ${behind.join(', ')}.`;
}

export interface Figures {
  disputes: Judged[];
  settled: Judged[];
  rows: LabelledRow[];
  files: Example[];
}

export function heldOut(model: Model, all: readonly Example[]): Figures {
  const files = all.filter(({ truth }) => splitOf(truth.number) === 'test');
  const rows = files.flatMap(rowsOf);
  const judgements = judged(rows, model);
  return {
    files,
    rows,
    disputes: judgements.filter(({ row }) => row.agreement === 'disputed'),
    settled: judgements.filter(({ row }) => row.agreement !== 'disputed'),
  };
}

function confidenceRow(what: string, judgements: readonly Judged[]): string {
  const cases = judgements.reduce((sum, { row }) => sum + row.weight, 0);
  return `| ${what} | ${cases.toFixed(0)} | ${(100 * calibrationError(answersOf(judgements))).toFixed(1)} % |`;
}

function tables(): { text: string; behind: string[] } {
  const model = new Model(JSON.parse(readFileSync(weightsFile, 'utf8')) as Weights);
  const all = examples();
  const { files, rows, disputes, settled } = heldOut(model, all);
  const undisputed = (agreement: LabelledRow['agreement']) => settled.filter(({ row }) => row.agreement === agreement);
  const alarms = falseAlarms(rows);
  const versions = new Set(all.flatMap(({ readings }) => Object.keys(readings)));
  const text = [
    `${all.length} files, ${all.filter(({ truth }) => truth.damage !== 'none').length} of them damaged, ` +
      `read by ${versions.size} tool versions; ${files.length} are held out. A file counts once for a ` +
      'field, however many pairs of versions read it, so numbers of cases have decimals.',
    '',
    '#### Disputed fields of the held-out files',
    '',
    ...fieldTable(disputes),
    '',
    `Share of right answers where at least one of the tools is right. ${worseThan(disputes)}`,
    '',
    '#### Confidence',
    '',
    '| | cases | expected calibration error |',
    '|---|---|---|',
    confidenceRow('disputed fields', disputes),
    confidenceRow('fields that only one tool has', undisputed('single')),
    confidenceRow('fields on which both agree', undisputed('agreed')),
    '',
    '#### False alarms',
    '',
    '| both tools right, and the truth is | comparisons | stood in `diff` | files | of the fields |',
    '|---|---|---|---|---|',
    ...alarms.map(
      ({ what, compared, alarmed, files: of, fields }) =>
        `| ${what} | ${compared} | ${alarmed} | ${of} | ${fields.map((field) => `\`${field}\``).join(', ') || '–'} |`,
    ),
    '',
    '#### Warnings',
    '',
    ...warningsTable(files),
  ].join('\n');
  return { text, behind: fieldsBehind(disputes) };
}

if (import.meta.main) {
  const { text, behind } = tables();
  console.log(text);
  writePart(page, 'tables', text);
  writePart(page, 'cost', costTable());
  if (behind.length > 0) {
    console.error(
      'the report is right less often than a tool alone or a rule in ' +
        `${behind.join(', ')}: add the field to RULED in src/media/report/judge.ts`,
    );
    process.exitCode = 1;
  }
}
