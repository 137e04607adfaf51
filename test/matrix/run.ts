/**
 * `make matrix`: the tests that need an API server, against one of each Kubernetes version, then a node of that version
 * with the chart on it. What has passed before is not run again, so that an interrupted run continues; AGAIN=1 runs it
 * all.
 */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import Type from 'typebox';
import Value from 'typebox/value';
import { say, timed } from '../../images/progress.ts';
import { HELM_PROGRAM } from '../chart/render.ts';
import { filesOf, runFiles } from '../files.ts';
import { SERVER_PROGRAM } from '../kube/apiserver.ts';
import { buildParts } from '../node/build.ts';
import { explain } from '../node/cluster_error.ts';
import { run } from '../node/command.ts';
import { envFile } from '../node/environment.ts';
import { buildNode, needsBundled } from '../node/versions.ts';
import { page, Run } from './page.ts';
import { BY_HELM, NODE_AREA, ON_NODE, ON_SERVER, versions, type Area } from './versions.ts';

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

type Areas = Run['areas'];

/** A version, and what has run on it so far. */
interface Subject {
  run: Run;
  areas: Map<string, Areas[number]>;
}

const hasPassed = (area: Areas[number] | undefined): boolean => area?.failed.length === 0;

/** The tests of one area, in processes of their own. */
async function runArea({ run: { exact }, areas }: Subject, [name, patterns]: Area): Promise<void> {
  if (hasPassed(areas.get(name))) return;
  const counts = await timed(`${exact}: ${name}`, () => runFiles(root, filesOf(root, patterns), 1));
  // The first line of a failure is its name.
  const failed = counts.flatMap((one) => one.failed).map((text) => text.split('\n')[0] ?? '');
  areas.set(name, { name, passed: counts.reduce((sum, { passes }) => sum + passes, 0), failed });
}

async function onServer(subject: Subject, server: string): Promise<void> {
  process.env[SERVER_PROGRAM] = server;
  for (const { helm, area } of BY_HELM) {
    process.env[HELM_PROGRAM] = join((await buildNode({ HELM: helm })).get('helm')!, 'helm');
    await runArea(subject, area);
  }
  delete process.env[HELM_PROGRAM];
  for (const area of ON_SERVER) await runArea(subject, area);
  delete process.env[SERVER_PROGRAM];
}

const UP_MS = 3_600_000;

async function onNode(subject: Subject): Promise<void> {
  const { version, exact } = subject.run;
  if (ON_NODE.every(([name]) => hasPassed(subject.areas.get(name)))) return;
  const script = (name: string): Promise<string> =>
    run(process.execPath, [join(root, 'test', 'node', name)], {
      env: { ...process.env, KUBERNETES: version },
      timeoutMs: UP_MS,
    });
  const up = (): Promise<string[]> =>
    script('up.ts').then(
      () => [],
      (error: unknown) => [explain(error).trim().split('\n').at(-1)!],
    );
  try {
    const failed = await timed(`${exact}: make up`, up);
    subject.areas.set(NODE_AREA, { name: NODE_AREA, passed: failed.length === 0 ? 1 : 0, failed });
    if (failed.length === 0) for (const area of ON_NODE) await runArea(subject, area);
  } finally {
    await timed(`${exact}: make down`, () => script('down.ts'));
  }
}

async function runVersion(version: string, recorded: Run | undefined): Promise<Run> {
  const built = await buildNode({ KUBERNETES: version });
  await buildParts(['kubernetes', 'nats-server']);
  const server = join(built.get('kubernetes')!, 'kube-apiserver');
  const exact = (await run(server, ['--version'])).trim().replace(/^Kubernetes v/, '');
  const delivery = needsBundled({ KUBERNETES: version }) ? 'one image' : 'image volumes';
  const known = recorded?.exact === exact && process.env['AGAIN'] !== '1' ? recorded.areas : [];
  const when = new Date().toISOString().slice(0, 10);
  const subject: Subject = {
    run: { version, exact, delivery, when, areas: [] },
    areas: new Map(known.map((area) => [area.name, area])),
  };
  await onServer(subject, server);
  await onNode(subject);
  return { ...subject.run, areas: [...subject.areas.values()] };
}

const named = (process.env['VERSIONS'] ?? '').split(/\s+/).filter((name) => name !== '');
const known = versions();
const unknown = named.filter((name) => !known.includes(name));
const refusal =
  unknown.length > 0
    ? `there is no ${unknown.join(', ')}: there are ${known.join(', ')}`
    : existsSync(envFile)
      ? 'a node is up, and each version has one of its own: run `make down` first'
      : undefined;
if (refusal !== undefined) {
  console.error(`make matrix: ${refusal}`);
  process.exit(1);
}
for (const version of known) {
  if (named.length > 0 && !named.includes(version)) continue;
  const before = (await readRuns()).find((one) => one.version === version);
  const result = await runVersion(version, before);
  // Read again: another run may have ended meanwhile.
  const others = (await readRuns()).filter((one) => one.version !== version);
  const all = [...others, result].sort((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
  await write(recordFile, `${JSON.stringify(all, null, 2)}\n`);
  await write(pageFile, await format(page(all), { ...(await resolveConfig(pageFile)), filepath: pageFile }));
  const failures = result.areas.flatMap(({ failed }) => failed);
  say(`${result.exact}: ${failures.length === 0 ? 'everything passed' : `${failures.length} failed`}`);
  if (failures.length > 0) process.exitCode = 1;
}
