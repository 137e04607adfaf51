/** Content checks beside two meters and against films of known content; writes the tables of docs/reports/qc.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { fetchMediaPrograms, withMediaPrograms } from '../../test/media_programs.ts';
import { damage, DAMAGE_HEAD } from './damage.ts';
import { findings } from './findings.ts';
import { levels } from './levels.ts';
import { pictures } from './pictures.ts';
import { toolIn } from './program.ts';
import { properties } from './properties.ts';

const SOUNDS = Number(process.env['SOUNDS'] ?? 200);
const FOUND = ['found of what is there', 'there of what is found'];
const FILMS = Number(process.env['FILMS'] ?? 500);
/** In each file. */
const PLACES = Number(process.env['PLACES'] ?? 200);

const page = join(import.meta.dirname, '../../docs/reports/qc.md');
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly string[][]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');

await fetchMediaPrograms();
process.env['PATH'] = withMediaPrograms(process.env['PATH']);
const folder = mkdtempSync(join(tmpdir(), 'probeyard-qc-'));
try {
  const qc = await toolIn('qc', join(folder, 'image'));
  const program = qc.command;
  const damaged = await damage({ qc, ffprobe: await toolIn('ffprobe', join(folder, 'ffprobe')) }, folder, PLACES);
  const damageTable = `${table(DAMAGE_HEAD, damaged.rows)}\n\n${damaged.beside}`;
  console.log(damageTable);
  const apart = await levels(program, folder, SOUNDS);
  const levelTable = table(['level, beside', 'files', 'median apart', '99 of 100', 'most'], apart);
  console.log(levelTable);
  const scored = await findings(program, folder, FILMS);
  const findingTable = table(['check', ...FOUND, 'median s off', '99 of 100', 'most'], scored);
  console.log(findingTable);
  const pictureTable = table(['pair', 'without', 'with pictures', 'ratio'], await pictures(program, folder));
  console.log(pictureTable);
  const found = await properties(program, folder, FILMS);
  const propertyTable = table(['property', ...FOUND, 'median off', '99 of 100', 'most'], found);
  console.log(propertyTable);
  const day = new Date().toISOString().slice(0, 10);
  writePart(page, 'damage', `${day}, ${PLACES} places in each file.\n\n${damageTable}`);
  writePart(page, 'levels', `${day}, ${SOUNDS} sounds.\n\n${levelTable}`);
  writePart(page, 'findings', `${day}, ${FILMS} films.\n\n${findingTable}`);
  writePart(page, 'pictures', `${day}, one film.\n\n${pictureTable}`);
  writePart(page, 'properties', `${day}, ${FILMS} films.\n\n${propertyTable}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
