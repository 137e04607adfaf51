/**
 * All tests: `node test/run.ts [check|unit|slow|cluster]...` (default: all). What each has is in test/parts.ts. A test
 * that is skipped without being in test/allowed_skips.ts fails the run. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { availableParallelism, totalmem } from 'node:os';
import { complaints } from './node/complaints.ts';
import { newSkips } from './allowed_skips.ts';
import { type Beside, runFiles } from './files.ts';
import { runsOf } from './parts.ts';
import type { Counts } from './test_messages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const nothing: Counts = { passes: 0, failures: 0, skipped: [], failed: [] };
const failure = (said: string): Counts => ({ ...nothing, failures: 1, failed: [said] });
const sum = (counts: Counts[]): Counts =>
  counts.reduce(
    (a, b) => ({
      passes: a.passes + b.passes,
      failures: a.failures + b.failures,
      skipped: [...a.skipped, ...b.skipped],
      failed: [...a.failed, ...b.failed],
    }),
    nothing,
  );

function command(name: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(name, args, { cwd: root, stdio: 'inherit' });
    child.on('error', (error) => {
      console.error(`${name}: ${error.message}`);
      resolve(false);
    });
    child.on('exit', (code) => resolve(code === 0));
  });
}

const runs = runsOf(root);

async function mochaPart(title: string, files: string[], processes = 1, beside?: Beside): Promise<Counts> {
  console.log(`\n== ${title}`);
  return files.length === 0 ? failure(`${title}: no test files`) : sum(await runFiles(root, files, processes, beside));
}

/** No more than cores: each computes what they share. Four on two cores take 16.5 s of CPU, two take 11.7. */
const CHECKERS = ['--checkers', String(Math.min(4, availableParallelism()))];

async function check(): Promise<Counts> {
  const bin = (name: string) => `${root}node_modules/.bin/${name}`;
  const counts: Counts[] = [];
  for (const [title, name, args] of [
    ['types (tsc --noEmit)', 'tsc', ['--noEmit', ...CHECKERS]],
    ['types of the console (tsc -p src/console)', 'tsc', ['--noEmit', ...CHECKERS, '-p', 'src/console']],
    ['types of the command line (tsc -p src/cli)', 'tsc', ['--noEmit', ...CHECKERS, '-p', 'src/cli']],
    [
      'types of the documentation (tsc -p docs/site/browser)',
      'tsc',
      ['--noEmit', ...CHECKERS, '-p', 'docs/site/browser'],
    ],
    ['lint (oxlint)', 'oxlint', ['--deny-warnings']],
    ['unused files, exports and dependencies (knip)', 'knip', ['--no-progress']],
    ['generated files (make generate writes them)', 'node', ['charts/generate.ts', '--check']],
    ['format (prettier; npm run format mends it)', 'prettier', ['--check', '--log-level=warn', '.']],
  ] as const) {
    console.log(`\n== ${title}`);
    counts.push((await command(bin(name), [...args])) ? { ...nothing, passes: 1 } : failure(title));
  }
  counts.push(await mochaPart('imports, widths, functions, Makefile', runs.checks));
  console.log('\n== recent commits that are too large, or have too long a subject (named, not failed)');
  if (!(await command('node', ['test/repository/commits.ts']))) counts.push(failure('remarks on commits'));
  return sum(counts);
}

/** Each has servers of its own, and some a browser. */
const GIGABYTES_EACH = 1.5;
const processes = (perCore: number): number =>
  Math.max(2, Math.min(12, perCore * availableParallelism(), Math.floor(totalmem() / GIGABYTES_EACH / 2 ** 30)));
/** More than cores, because these mostly wait: of 1,882 s in a run, 429 were CPU. */
const MANY = processes(4);
/** What is slow computes. */
const FEW = processes(2);

const apiServer: Beside = async (folder) => (await import('./kube/apiserver.ts')).startForRun(folder);

const unit = () => mochaPart('unit: decisions, and every client against its real server', runs.unit, MANY, apiServer);

let isUp = false;
let startedHere = false;

/** The failure, if it cannot be started. It runs until the last part has ended. */
async function startCluster(): Promise<Counts | undefined> {
  if (isUp) return undefined;
  startedHere ||= !existsSync(`${root}.local/env`);
  if (!(await command(process.execPath, ['test/node/up.ts']))) return failure('make up');
  if (!(await command(process.execPath, ['test/node/builder.ts', 'wait']))) return failure('the background builder');
  isUp = true;
  return undefined;
}

/** A cluster that was running stays, and one that the tests started is stopped. */
async function stopCluster(): Promise<Counts> {
  if (!startedHere || process.env['KEEP'] === '1') return nothing;
  return (await command(process.execPath, ['test/node/down.ts'])) ? nothing : failure('make down');
}

async function onCluster(...parts: (() => Promise<Counts>)[]): Promise<Counts> {
  const failed = await startCluster();
  if (failed) return failed;
  const counts: Counts[] = [];
  for (const part of parts) counts.push(await part());
  const all = sum(counts);
  if (all.failures > 0) all.failed.push(await complaints().catch(String));
  return all;
}

const cluster = () =>
  onCluster(
    () => mochaPart('images and node: what leaves the cluster alone', runs.beside, FEW, apiServer),
    () => mochaPart('cluster: whole paths on real Kubernetes', runs.cluster),
  );

const slow = async () =>
  sum([
    await mochaPart('slow: browsers, processes, compilers, limits', runs.slow, FEW, apiServer),
    await onCluster(() => mochaPart('slow, on the cluster', runs.slowCluster)),
  ]);

/** Slow before cluster: what needs no cluster would find one. */
const PARTS: Record<string, () => Promise<Counts>> = { check, unit, slow, cluster };
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PARTS);
// An unknown environment is refused before the first test, not after the last.
newSkips([]);
let total = nothing;
for (const name of wanted) {
  const part = PARTS[name];
  if (!part) {
    console.error(`no part ${name}: there are ${Object.keys(PARTS).join(', ')}`);
    process.exit(2);
  }
  const started = performance.now();
  const counts = await part();
  console.log(
    `-- ${name}: ${counts.passes} passed, ${counts.failures} failed, ` +
      `${counts.skipped.length} skipped in ${Math.round((performance.now() - started) / 1000)} s`,
  );
  total = sum([total, counts]);
}
total = sum([total, await stopCluster()]);
if (total.skipped.length > 0) console.log(`\n== skipped\n\n${total.skipped.join('\n')}`);
total = sum([total, ...newSkips(total.skipped).map((test) => failure(`${test}: skipped; see test/allowed_skips.ts`))]);
if (total.failed.length > 0) console.log(`\n== failed\n\n${total.failed.join('\n\n')}\n`);
const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : '';
console.log(`${total.passes} passed, ${total.failures} failed${skipped}`);
process.exit(total.failures > 0 || total.passes === 0 ? 1 : 0);
