/**
 * Runs test files in a process of their own, one after the other: `node test/part.ts <file>...`, or with `--queue`
 * those that the parent hands out. Each file has a mocha of its own, and shares what `atEnd` ends with the others.
 */
import { once } from 'node:events';
import { relative } from 'node:path';
import Mocha from 'mocha';
import { endAll, keepEnds } from './at_end.ts';
import { PATIENCE } from './patience.ts';
import { cpuSecondsOfTree } from './processes.ts';
import { type Counts, END_OF_FILE, type Order, type Report } from './test_messages.ts';
import { longestWaits } from './waits.ts';

/** The totals and failures are printed by the parent. */
class Lines extends Mocha.reporters.Spec {
  override epilogue(): void {}
}

const none = (): Counts => ({ passes: 0, failures: 0, skipped: [], failed: [] });
let counts = none();

function failed(name: string, error: Error): void {
  const where = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 4)
    .join('\n');
  const cause = error.cause instanceof Error ? `\n  because of: ${error.cause.message}` : '';
  const text = `${name}\n  ${error.name}: ${error.message}${cause}\n${where}`;
  // Printed at once as well, because a process that is killed at its timeout prints nothing at its end.
  console.log(`\n${text}\n`);
  counts.failed.push(text);
  counts.failures += 1;
}

async function run(file: string): Promise<void> {
  const mocha = new Mocha({
    reporter: Lines,
    timeout: 30_000,
    slow: 5_000,
    forbidOnly: true,
    ...(process.stdout.isTTY ? {} : { color: false }),
  });
  mocha.addFile(file);
  await mocha.loadFilesAsync();
  isRunning = true;
  const ended = Promise.withResolvers<void>();
  const runner = mocha.run(() => ended.resolve());
  const patient = new Set<Mocha.Runnable>();
  const allowMore = (one: Mocha.Runnable) => {
    if (!patient.has(one)) one.timeout(PATIENCE * one.timeout());
    patient.add(one);
  };
  runner.on('test', allowMore);
  runner.on('hook', allowMore);
  runner.on('pass', () => (counts.passes += 1));
  const nameOf = (test: Mocha.Test): string =>
    `${relative(process.cwd(), test.file ?? file)}: ${test.titlePath().join(' > ')}`;
  runner.on('pending', (test) => counts.skipped.push(nameOf(test)));
  runner.on('fail', (test, error: Error) => failed(nameOf(test), error));
  await ended.promise;
  // Otherwise its handlers would end the process for an error in a later file.
  runner.dispose();
}

let [current, isRunning] = ['the start', false];
// Mocha has a handler of its own while a file runs.
process.on('uncaughtException', (error) => {
  if (!isRunning) failed(`${current}: outside of its tests`, error);
});
process.on('unhandledRejection', (reason) => {
  throw reason;
});

/** At the end of the last file, between which and the next one nothing is done: to ask takes 10 ms of CPU. */
let cpuSince = cpuSecondsOfTree();

async function take(file: string): Promise<void> {
  const since = performance.now();
  current = file;
  try {
    await run(file);
  } catch (error) {
    failed(`${file}: cannot be loaded`, error as Error);
  }
  isRunning = false;
  const cpu = cpuSecondsOfTree();
  const done = {
    ...counts,
    file,
    seconds: (performance.now() - since) / 1000,
    cpu: cpu - cpuSince,
    waits: longestWaits(),
  };
  cpuSince = cpu;
  counts = none();
  if (process.send) {
    process.stdout.write(END_OF_FILE);
    process.send({ done } satisfies Report);
  }
  if (done.failures > 0) process.exitCode = 1;
}

keepEnds();
// The run has ended without it.
process.once('disconnect', () => process.exit(1));
const files = process.argv.slice(2);
if (files[0] === '--queue') {
  process.send?.({} satisfies Report);
  for (;;) {
    const [{ file }] = (await once(process, 'message')) as [Order];
    if (file === undefined) break;
    await take(file);
  }
} else for (const file of files) await take(file);
try {
  await endAll();
} catch (error) {
  failed(`${current}: the end of the process`, error as Error);
}
const exit = (): never => process.exit(counts.failures > 0 ? 1 : (process.exitCode ?? 0));
if (!process.send) exit();
process.send?.({ done: { ...counts, file: '', seconds: 0, cpu: 0, waits: [] } } satisfies Report, exit);
