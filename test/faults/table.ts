/**
 * Runs the test of every fault, one after the other, on the running cluster, and writes the counts to
 * docs/reports/faults.md: `node test/faults/table.ts [name...]`. With names, only those run, and only their rows
 * change.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { rowsOf, writePart } from '../../docs/tables/part.ts';
import type { Report } from '../test_messages.ts';
import type { Noted } from './note.ts';
import type { Pace } from './pace.ts';

const root = join(import.meta.dirname, '..', '..');
const document = join(root, 'docs', 'reports', 'faults.md');
const COLUMNS = [
  'fault',
  'requests',
  'callers were told',
  'recorded',
  'doubles',
  'most of a token at once',
  'longest time without a 200',
  'memory API, before → after',
  'memory controllers',
  'warm p50, before → after',
  'requests/s of 8 callers',
];
const HEADER = `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}`;

interface Fault {
  name: string;
  file: string;
  title: string;
}

const faults: Fault[] = await Promise.all(
  globSync(join(import.meta.dirname, '*.test.ts'))
    .sort()
    .map(async (file) => ({
      name: basename(file, '.test.ts'),
      file,
      title: (/describe\((['`])(.*?)(?<!\\)\1/.exec(await readFile(file, 'utf8'))?.[2] ?? '')
        .replaceAll('\\', '')
        .replace(/(,? drawn by the seed | \(seed )\$\{SEED\}\)?/, ''),
    })),
);

const STATUS: Record<string, string> = { 0: 'broken connection' };
const told = (statuses: Record<string, number>): string =>
  Object.entries(statuses)
    .map(([status, count]) => `${STATUS[status] ?? status}: ${count}`)
    .join(', ');
const seconds = (ms: number | undefined): string => (ms === undefined ? '' : `${(ms / 1000).toFixed(1)} s`);

function rowOf({ name, title }: Fault, noted: readonly Noted[], passed: boolean): string {
  if (!passed) return `| ${title} \`${name}\` | **failed** | | | | | | | | | |`;
  if (noted.length === 0) return `| ${title} \`${name}\` | passed, without load | | | | | | | | | |`;
  // If a file has several tests of one fault, its row is their sum, and the worst of each.
  const sum = (of: (one: Noted) => number) => noted.reduce((total, one) => total + of(one), 0);
  const statuses: Record<string, number> = {};
  for (const one of noted)
    for (const [status, count] of Object.entries(one.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  const gaps = noted.flatMap(({ longestGapMs }) => (longestGapMs === undefined ? [] : [longestGapMs]));
  const memory = (part: 'api' | 'controller') =>
    noted
      .flatMap((one) => (one.memory ? [`${one.memory.before[part]} → ${one.memory.after[part]} MB`] : []))
      .join(', ');
  const pace = (of: keyof Pace, digits: number) =>
    noted
      .flatMap((one) =>
        one.pace ? [`${one.pace.before[of].toFixed(digits)} → ${one.pace.after[of].toFixed(digits)}`] : [],
      )
      .join(', ');
  return (
    `| ${title} \`${name}\` | ${sum(({ requests }) => requests)} | ${told(statuses)} | ` +
    `${sum(({ recorded }) => recorded)} | ${sum(({ doubles }) => doubles)} | ` +
    `${Math.max(...noted.map(({ most }) => most))} of ${noted[0]!.limit} | ` +
    `${gaps.length === 0 ? '' : seconds(Math.max(...gaps))} | ${memory('api')} | ${memory('controller')} | ` +
    `${pace('warmMs', 0)} | ${pace('perSecond', 1)} |`
  );
}

/** Undefined: this cluster cannot show the fault, so that its tests were skipped. */
async function runOne(fault: Fault, folder: string): Promise<string | undefined> {
  const notes = join(folder, `${fault.name}.jsonl`);
  await writeFile(notes, '');
  const child = fork(join(root, 'test', 'part.ts'), [fault.file], {
    cwd: root,
    env: { ...process.env, FAULTS_FILE: notes },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let ran = 0;
  child.on('message', ({ done }: Report) => {
    ran += done ? done.passes + done.failures : 0;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const noted = (await readFile(notes, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Noted);
  if (code !== 0) process.exitCode = 1;
  if (code === 0 && ran === 0) return undefined;
  return rowOf(fault, noted, code === 0);
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !faults.some((fault) => fault.name === name));
if (unknown.length > 0) {
  console.error(`no fault ${unknown.join(', ')}: there are ${faults.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), 'probeyard-faults-'));
try {
  for (const fault of faults.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const row = await runOne(fault, folder);
    if (row === undefined) continue;
    // After each fault, so that an interrupted run keeps its rows.
    const rows = rowsOf(document, 'table').set(fault.name, row);
    writePart(document, 'table', [HEADER, ...faults.flatMap(({ name }) => rows.get(name) ?? [])].join('\n'));
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
