/**
 * The effect of upgrading both tools on the files that `make report-data` generated and read with every version. Writes
 * the tables of docs/reports/compare.md, without running a tool.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareRuns, type ComparedRun } from '../../src/media/compare/compare.ts';
import { UpgradeReport, type ReportedField } from '../../src/media/compare/upgrade_report.ts';
import { REPORT_TOOLS, type ReportTool } from '../../src/media/tools/probe_report.ts';
import { examples, type Readings } from '../report/collect.ts';

const VERSIONS: Record<ReportTool, [string, string]> = { ffprobe: ['4.4', '9.0'], mediainfo: ['21.09', '26.10'] };
const TOLD = 40;
/** Properties of the file on this machine, not of its content. Over HTTP they do not exist. */
const OWN_OF_FILE = /"File_(?:Modified|Created)_Date(?:_Local)?": ?"[^"]*",?/g;

const runsOf = (readings: Readings, tool: ReportTool): ComparedRun[] =>
  VERSIONS[tool].flatMap((version) => {
    const printed = readings[`${tool} ${version}`];
    if (printed === undefined) return [];
    const text = printed?.replaceAll(OWN_OF_FILE, '') ?? null;
    return [
      {
        tool,
        version,
        label: version,
        output: text === null ? null : { bytes: Buffer.byteLength(text), text: () => text },
      },
    ];
  });

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

function rowOf({ files, path, change, to, examples: [first] }: ReportedField): string {
  const values = Object.entries(first?.values ?? {}).map(([version, value]) => `${version}: ${JSON.stringify(value)}`);
  const shown = values.map((value) => (value.length > 60 ? `${value.slice(0, 59)}…` : value)).join('; ');
  return `| ${files} | \`${path}\` | ${change}${to === undefined ? '' : ` to \`${to}\``} | \`${cell(shown)}\` |`;
}

const tableOf = (fields: readonly ReportedField[]): string =>
  [
    '| files | field | change | example |',
    '| --- | --- | --- | --- |',
    ...fields.slice(0, TOLD).map(rowOf),
    ...(fields.length > TOLD ? ['', `And ${fields.length - TOLD} more.`] : []),
  ].join('\n');

function sectionOf(tool: ReportTool, all: readonly { file: string; readings: Readings }[]): string {
  const report = new UpgradeReport();
  let onlyOne = 0;
  for (const { file, readings } of all) {
    const runs = runsOf(readings, tool);
    if (runs.length < 2) continue;
    if (runs.some(({ output }) => output === null)) onlyOne += runs.every(({ output }) => output === null) ? 0 : 1;
    else report.add(file, compareRuns(runs));
  }
  const { fields, summary } = report.end();
  const news = (level: 'canonical' | 'raw') => fields.filter((field) => field.level === level && !field.known);
  const known = fields.filter((field) => field.known);
  return [
    `## ${tool} ${VERSIONS[tool].join(' to ')}`,
    `${summary.comparisons} files; ${summary.changed} have a change that is not known, ${summary.unchanged} none at ` +
      `all. Of ${onlyOne} further files only one of the two versions gave a result.`,
    '### Canonical: what a reader of `probe_report` would see',
    tableOf(news('canonical')),
    '### Raw, not known',
    tableOf(news('raw')),
    '### Raw, known',
    ['| files | field | since | note |', '| --- | --- | --- | --- |']
      .concat(
        known
          .slice(0, TOLD)
          .map((one) => `| ${one.files} | \`${one.path}\` | ${one.known!.release} | ${one.known!.note} |`),
      )
      .join('\n'),
  ].join('\n\n');
}

const MARK = '<!-- tables: bench/compare/corpus.ts -->';
const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'compare.md');
const all = examples();
const head = readFileSync(page, 'utf8').split(MARK)[0]!;
writeFileSync(page, `${head}${MARK}\n\n${REPORT_TOOLS.map((tool) => sectionOf(tool, all)).join('\n\n')}\n`);
