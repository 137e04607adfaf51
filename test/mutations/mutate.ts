/**
 * `make mutate FILES="src/platform/kube/lease_record.ts"`: changes every expression of the files, one at a time, with
 * Stryker, and runs the tests that import them (or TESTS="…"). A mutation that survives is noticed by no test. Stryker
 * is not a dependency of the checkout, because npm fetches 145 packages for it alone.
 */
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const STRYKER = '@stryker-mutator/core@10.1.1';
const root = join(import.meta.dirname, '..', '..');
const listed = (name: string): string[] => (process.env[name] ?? '').split(/\s+/).filter((path) => path !== '');

const files = listed('FILES');
const imports = (test: string): boolean => {
  const text = readFileSync(join(root, test), 'utf8');
  return files.some((file) => text.includes(`/${basename(file)}'`));
};
const given = listed('TESTS');
const tests = given.length > 0 ? given : globSync('test/**/*.test.ts', { cwd: root }).filter(imports);
if (files.length === 0 || tests.length === 0) {
  console.error(files.length === 0 ? 'missing files of src: FILES="src/…"' : 'no test imports them: set TESTS="…"');
  process.exit(2);
}
console.log(`with ${tests.join(' ')}`);

const work = join(root, '.local', 'stryker');
mkdirSync(work, { recursive: true });
const config = join(work, 'config.json');
writeFileSync(
  config,
  JSON.stringify({
    testRunner: 'command',
    commandRunner: { command: `node node_modules/mocha/bin/mocha.js --bail --exit --timeout=30000 ${tests.join(' ')}` },
    mutate: files,
    reporters: ['clear-text', 'progress-append-only'],
    checkers: [],
    plugins: [],
    tempDirName: join(work, 'sandbox'),
    ignorePatterns: ['.local', 'docs', 'node_modules/.cache'],
    // TypeScript 7 has no JavaScript API, which Stryker would need to rewrite this file.
    tsconfigFile: 'none',
  }),
);
const { status } = spawnSync(
  'npm',
  ['exec', '--yes', '--ignore-scripts', `--package=${STRYKER}`, '--', 'stryker', 'run', config],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = status ?? 1;
