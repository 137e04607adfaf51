/**
 * Runs one part of the tests in a separate process: `node test/part.ts [--share=1/2] <glob>...`. Reports its counts to
 * the parent.
 */
import { globSync } from 'node:fs';
import { relative } from 'node:path';
import Mocha from 'mocha';

const [share = 1, shares = 1] =
  /^--share=(\d+)\/(\d+)$/
    .exec(process.argv[2] ?? '')
    ?.slice(1)
    .map(Number) ?? [];
const patterns = process.argv.slice(shares > 1 ? 3 : 2);
const files = [...new Set(patterns.filter((p) => !p.startsWith('!')).flatMap((pattern) => globSync(pattern)))]
  .filter((file) => !patterns.some((p) => p.startsWith('!') && file.startsWith(p.slice(1))))
  .sort()
  // Neighbouring files go to different shares, because the files of a folder take similar times.
  .filter((_, index) => index % shares === share - 1);
if (files.length === 0) {
  console.error(`no test file matches ${patterns.join(' ')}`);
  process.exit(2);
}
const mocha = new Mocha({
  reporter: 'spec',
  timeout: 30_000,
  slow: 5_000,
  forbidOnly: true,
  ...(process.stdout.isTTY ? {} : { color: false }),
});
for (const file of files) mocha.addFile(file);
await mocha.loadFilesAsync();
// Time per file including hooks, to find slow files.
const seconds = new Map<string, number>();
let [current, since] = ['', performance.now()];
const enter = (file: string | undefined) => {
  if (file === undefined || file === current) return;
  if (current !== '') seconds.set(current, (seconds.get(current) ?? 0) + (performance.now() - since) / 1000);
  [current, since] = [file, performance.now()];
};
const failed: string[] = [];
const runner = mocha.run((failures) => {
  enter('the end');
  const longest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, 30);
  const shown = longest.map(([file, value]) => `${relative(process.cwd(), file)} ${Math.round(value)} s`);
  console.log(`  longest: ${shown.join(', ')}`);
  const { passes = 0, pending = 0 } = runner.stats ?? {};
  const report = () => process.exit(failures > 0 ? 1 : 0);
  if (process.send) process.send({ passes, failures: runner.stats?.failures ?? failures, pending, failed }, report);
  else report();
});
runner.on('suite', (suite) => enter(suite.file));
runner.on('fail', (test, error: Error) => {
  const where = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 4)
    .join('\n');
  const cause = error.cause instanceof Error ? `\n  because of: ${error.cause.message}` : '';
  const text = `${relative(process.cwd(), test.file ?? '')}: ${test.fullTitle()}\n  ${error.name}: ${error.message}`;
  // Printed at once as well, because a part that is killed at its timeout prints nothing at its end.
  console.log(`\n${text}${cause}\n${where}\n`);
  failed.push(`${text}${cause}\n${where}`);
});
