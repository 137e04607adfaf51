/** All tests: `node test/run.ts [check|unit|cluster]...` (default: all). The last line is `N passed, N failed`. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { availableParallelism, totalmem } from 'node:os';
import { complaints } from './node/complaints.ts';
import { type Beside, filesOf, runFiles } from './files.ts';
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

async function mochaPart(title: string, patterns: string[], processes = 1, beside?: Beside): Promise<Counts> {
  console.log(`\n== ${title}`);
  const files = filesOf(root, patterns);
  return files.length === 0
    ? failure(`no test file matches ${patterns.join(' ')}`)
    : sum(await runFiles(root, files, processes, beside));
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
  counts.push(await mochaPart('imports, widths, functions, Makefile', ['test/repository/*.test.ts']));
  console.log('\n== recent commits that are too large, or have too long a subject (named, not failed)');
  if (!(await command('node', ['test/repository/commits.ts']))) counts.push(failure('remarks on commits'));
  return sum(counts);
}

/** More than cores, because tests of failures mostly wait. Each has servers of its own, and some a browser. */
const PER_CORE = 2;
const GIGABYTES_EACH = 1.5;
const PROCESSES = Math.max(
  2,
  Math.min(12, PER_CORE * availableParallelism(), Math.floor(totalmem() / GIGABYTES_EACH / 2 ** 30)),
);

const apiServer: Beside = async (folder) => (await import('./kube/apiserver.ts')).startForRun(folder);

const unit = () =>
  mochaPart(
    'unit: decisions, and every client against its real server',
    [
      'test/**/*.test.ts',
      '!test/cluster/',
      '!test/faults/',
      '!test/hostile_callers/',
      '!test/hostility/',
      '!test/images/',
      '!test/repository/',
    ],
    PROCESSES,
    apiServer,
  );

/** Beside the tests on the cluster, with which they share folders and images: these run at once. */
const NO_CLUSTER = [
  'test/images/**/*.test.ts',
  'test/cluster/node/{build_key,chart,links,processes,readings}.test.ts',
  'test/faults/{runner_answers_twice,watch_frozen}.test.ts',
  'test/faults/soak/*.test.ts',
  'test/hostility/network_policy.test.ts',
];
const CLUSTER = ['cluster', 'faults', 'hostile_callers', 'hostility'].map((folder) => `test/${folder}/**/*.test.ts`);

async function cluster(): Promise<Counts> {
  const wasUp = existsSync(`${root}.local/env`);
  if (!(await command(process.execPath, ['test/node/up.ts']))) return failure('make up');
  if (!(await command(process.execPath, ['test/node/builder.ts', 'wait']))) return failure('the background builder');
  const counts = sum([
    await mochaPart('images and node: what leaves the cluster alone', NO_CLUSTER, PROCESSES, apiServer),
    await mochaPart('cluster: whole paths on real Kubernetes', [
      ...CLUSTER,
      ...filesOf(root, NO_CLUSTER).map((file) => `!${file}`),
    ]),
  ]);
  if (counts.failures > 0) counts.failed.push(await complaints().catch(String));
  // A cluster that was running stays, and one that the tests started is stopped.
  if (!wasUp && process.env['KEEP'] !== '1' && !(await command(process.execPath, ['test/node/down.ts'])))
    return sum([counts, failure('make down')]);
  return counts;
}

const PARTS: Record<string, () => Promise<Counts>> = { check, unit, cluster };
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PARTS);
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
if (total.skipped.length > 0) console.log(`\n== skipped\n\n${total.skipped.join('\n')}`);
if (total.failed.length > 0) console.log(`\n== failed\n\n${total.failed.join('\n\n')}\n`);
const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : '';
console.log(`${total.passes} passed, ${total.failures} failed${skipped}`);
process.exit(total.failures > 0 || total.passes === 0 ? 1 : 0);
