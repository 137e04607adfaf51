/**
 * `make matrix`: the tests that need an API server, against one of each Kubernetes version. Versions with a record are
 * skipped unless they are named, so that an interrupted run continues.
 */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import Value from 'typebox/value';
import { say, timed } from '../../images/progress.ts';
import { filesOf, runFiles } from '../files.ts';
import { SERVER_PROGRAM } from '../kube/apiserver.ts';
import { buildParts } from '../node/build.ts';
import { run } from '../node/command.ts';
import { page, Run } from './page.ts';
import { AREAS, type Version, versions } from './versions.ts';

const root = join(import.meta.dirname, '..', '..');
const recordFile = join(import.meta.dirname, 'runs.json');
const pageFile = join(root, 'docs', 'compat.md');

async function readRuns(): Promise<Run[]> {
  return existsSync(recordFile) ? Value.Parse(Type.Array(Run), JSON.parse(await readFile(recordFile, 'utf8'))) : [];
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(`${file}.part`, text);
  await rename(`${file}.part`, file);
}

/** The tests of one area in a process of their own, against the API server that the environment names. */
async function runArea(patterns: readonly string[]): Promise<{ passed: number; failed: string[] }> {
  const counts = await runFiles(root, filesOf(root, patterns), 1);
  // The first line of a failure is its name.
  const failed = counts.flatMap((one) => one.failed).map((text) => text.split('\n')[0] ?? '');
  return { passed: counts.reduce((sum, { passes }) => sum + passes, 0), failed };
}

async function runVersion({ name, part, program }: Version): Promise<Run> {
  const folder = (await buildParts([part, 'etcd', 'kubernetes', 'nats-server', 'helm'])).get(part)!;
  const server = join(folder, program);
  const exact = (await run(server, ['--version'])).trim().replace(/^Kubernetes v/, '');
  process.env[SERVER_PROGRAM] = server;
  const areas: Run['areas'] = [];
  for (const [area, patterns] of AREAS) {
    areas.push({ name: area, ...(await timed(`${exact}: ${area}`, () => runArea(patterns))) });
  }
  return { version: name, exact, when: new Date().toISOString().slice(0, 10), areas };
}

const named = (process.env['VERSIONS'] ?? '').split(/\s+/).filter((name) => name !== '');
const known = versions();
const unknown = named.filter((name) => !known.some((version) => version.name === name));
if (unknown.length > 0) {
  console.error(
    `make matrix: there is no ${unknown.join(', ')}: there are ${known.map(({ name }) => name).join(', ')}`,
  );
  process.exit(1);
}
for (const version of known) {
  const recorded = (await readRuns()).some((one) => one.version === version.name);
  if (named.length > 0 ? !named.includes(version.name) : recorded) continue;
  const result = await runVersion(version);
  // Read again: another run may have ended meanwhile.
  const others = (await readRuns()).filter((one) => one.version !== version.name);
  const all = [...others, result].sort((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
  await write(recordFile, `${JSON.stringify(all, null, 2)}\n`);
  await write(pageFile, page(all));
  const failures = result.areas.flatMap(({ failed }) => failed);
  say(`${result.exact}: ${failures.length === 0 ? 'everything passed' : `${failures.length} failed`}`);
  if (failures.length > 0) process.exitCode = 1;
}
