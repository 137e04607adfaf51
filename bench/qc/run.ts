/** Content checks beside two meters and against films of known content; writes the tables of docs/reports/qc.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { fetchMediaPrograms, withMediaPrograms } from '../../test/media_programs.ts';
import { av1, AV1_HEAD } from './av1.ts';
import { damage, DAMAGE_HEAD, type Programs } from './damage.ts';
import { findings } from './findings.ts';
import { interludes } from './interludes.ts';
import { levels } from './levels.ts';
import { pictures } from './pictures.ts';
import { toolIn } from './program.ts';
import { properties } from './properties.ts';

const page = join(import.meta.dirname, '../../docs/reports/qc.md');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly string[][]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

const FOUND = ['found of what is there', 'there of what is found'];
const APART = ['median apart', '99 of 100', 'most'];

interface Setting {
  folder: string;
  programs: Programs;
  count: number;
}
interface Part {
  /** Of the page. */
  name: string;
  variable: string;
  usual: number;
  /** What `count` counts. */
  of: string;
  text(setting: Setting): Promise<string>;
}

const PARTS: readonly Part[] = [
  {
    name: 'damage',
    variable: 'PLACES',
    usual: 1020,
    of: 'places',
    async text({ programs, folder, count }) {
      const { rows, beside } = await damage(programs, folder, count);
      return `${table(DAMAGE_HEAD, rows)}\n\n${beside}`;
    },
  },
  {
    name: 'av1',
    variable: 'AV1_FILES',
    usual: 20,
    of: 'files',
    text: async ({ programs, folder, count }) => table(AV1_HEAD, await av1(programs, folder, count)),
  },
  {
    name: 'levels',
    variable: 'SOUNDS',
    usual: 200,
    of: 'sounds',
    text: async ({ programs: { qc }, folder, count }) =>
      table(['level, beside', 'files', ...APART], await levels(qc.command, folder, count)),
  },
  {
    name: 'findings',
    variable: 'FILMS',
    usual: 500,
    of: 'films',
    text: async ({ programs: { qc }, folder, count }) =>
      table(['check', ...FOUND, 'median s off', '99 of 100', 'most'], await findings(qc.command, folder, count)),
  },
  {
    name: 'interludes',
    variable: 'INTERLUDES',
    usual: 100,
    of: 'films',
    text: async ({ programs: { qc }, folder, count }) =>
      table(['check', ...FOUND, 'median off', '99 of 100', 'most'], await interludes(qc.command, folder, count)),
  },
  {
    name: 'pictures',
    variable: 'PICTURES',
    usual: 1,
    of: 'film',
    text: async ({ programs: { qc }, folder }) =>
      table(['pair', 'without', 'with pictures', 'ratio'], await pictures(qc.command, folder)),
  },
  {
    name: 'properties',
    variable: 'FILMS',
    usual: 500,
    of: 'films',
    text: async ({ programs: { qc }, folder, count }) =>
      table(['property', ...FOUND, 'median off', '99 of 100', 'most'], await properties(qc.command, folder, count)),
  },
];

await fetchMediaPrograms();
process.env['PATH'] = withMediaPrograms(process.env['PATH']);
const folder = mkdtempSync(join(tmpdir(), 'probeyard-qc-'));
try {
  const programs = {
    qc: await toolIn('qc', join(folder, 'image')),
    ffprobe: await toolIn('ffprobe', join(folder, 'ffprobe')),
    older: await toolIn('ffprobe', join(folder, 'ffprobe-7.1'), '7.1'),
  };
  for (const { name, variable, usual, of, text } of PARTS) {
    const count = Number(process.env[variable] ?? usual);
    // None leaves the part of the page as it is.
    if (count === 0) continue;
    const made = await text({ programs, folder, count });
    console.log(made);
    writePart(page, name, `${new Date().toISOString().slice(0, 10)}, ${count} ${of}.\n\n${made}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
