/** Runs test files in several processes at once (test/part.ts): each takes the next file when it is done with one. */
import { type ChildProcess, fork } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { withMediaPrograms } from './media_programs.ts';
import { RUN_FOLDER } from './once_per_run.ts';
import { cpuSecondsOfTree } from './processes.ts';
import { makeDirectory, removeDirectory } from './server_process.ts';
import { type Counts, END_OF_FILE, type Order, type Report } from './test_messages.ts';
import type { Wait } from './waits.ts';

const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'probeyard');
/** Seconds of each file in the last run, by which the longest are started first. */
const TIMES = join(CACHE, 'test_seconds.json');
/** Limited, so that a hang is reported by name before CI's own timeout. */
const RUN_MINUTES = 70;
const MOST_SHOWN = 15;

/** Files by patterns; one with `!` excludes all files whose path starts with the rest. */
export function filesOf(root: string, patterns: readonly string[]): string[] {
  const excluded = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const found = patterns.filter((pattern) => !pattern.startsWith('!')).flatMap((one) => globSync(one, { cwd: root }));
  return [...new Set(found)].filter((file) => !excluded.some((start) => file.startsWith(start))).sort();
}

function lastTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, 'utf8')) as Record<string, number>;
  } catch {
    return {}; // The first run.
  }
}

/** A file without a time is new or has failed: early, because it may be long. */
const longestFirst = (files: readonly string[], times: Readonly<Record<string, number>>): string[] =>
  files.toSorted((a, b) => (times[b] ?? 15) - (times[a] ?? 15));

interface Spent {
  file: string;
  seconds: number;
  cpu: number;
  waits: readonly Wait[];
}

/** Starts what all processes of the run share, and returns what ends it. They get the same folder. */
export type Beside = (folder: string) => Promise<() => Promise<void>>;

export async function runFiles(
  root: string,
  files: readonly string[],
  processes: number,
  beside: Beside = async () => async () => {},
): Promise<Counts[]> {
  const times = lastTimes();
  const left = processes > 1 ? longestFirst(files, times) : [...files];
  const all: Counts[] = [];
  const spent: Spent[] = [];
  const running = new Map<ChildProcess, string>();
  const folder = makeDirectory('run');
  const cpuSince = cpuSecondsOfTree();
  const isLive = processes === 1;
  const shared = beside(folder);
  const timer = setTimeout(() => {
    console.error(`not done within ${RUN_MINUTES} minutes: ${[...running.values()].join(', ')}`);
    left.length = 0;
    for (const child of running.keys()) child.kill('SIGKILL');
  }, RUN_MINUTES * 60_000);

  function start(): Promise<void> {
    return new Promise((resolve) => {
      const child = fork(join(import.meta.dirname, 'part.ts'), ['--queue'], {
        cwd: root,
        // Programs of Node that tests start are compiled once, too.
        env: {
          NODE_COMPILE_CACHE: join(CACHE, 'compiled'),
          ...process.env,
          PATH: withMediaPrograms(process.env['PATH']),
          [RUN_FOLDER]: folder,
        },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      let printed = '';
      const print = (chunk: string) => {
        const parts = (printed + chunk).split(END_OF_FILE);
        printed = isLive ? '' : parts.pop()!;
        for (const part of parts) process.stdout.write(part);
      };
      for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', print);
      running.set(child, 'the start');
      child.on('message', ({ done }: Report) => {
        if (done) {
          all.push(done);
          if (done.file === '') return void running.delete(child);
          spent.push(done);
          console.log(`    ${timesOf(done)}${waitsOf(done)}`);
        }
        const file = left.shift();
        running.set(child, file ?? 'the end');
        child.send((file === undefined ? {} : { file }) satisfies Order);
      });
      child.on('close', (code, signal) => {
        process.stdout.write(printed);
        const file = running.get(child);
        running.delete(child);
        // A process that dies has failed, whatever passed before. Another one takes the files that are left.
        if (file !== undefined) {
          const failed = `${file}: the process ended (${signal ?? `exit code ${code}`})`;
          all.push({ passes: 0, failures: 1, skipped: [], failed: [failed] });
        }
        resolve(file !== undefined && left.length > 0 ? start() : undefined);
      });
    });
  }

  await Promise.all(Array.from({ length: Math.min(processes, files.length) }, start));
  clearTimeout(timer);
  await (
    await shared
  )();
  removeDirectory(folder);
  keepTimes({ ...times, ...Object.fromEntries(spent.map(({ file, seconds }) => [file, Math.round(seconds)])) });
  printTimes(spent, cpuSecondsOfTree() - cpuSince);
  return all;
}

function keepTimes(times: Record<string, number>): void {
  mkdirSync(dirname(TIMES), { recursive: true });
  writeFileSync(TIMES, `${JSON.stringify(times)}\n`);
}

const timesOf = ({ file, seconds, cpu }: Spent): string => `${file} ${Math.round(seconds)} s (CPU ${cpu.toFixed(1)} s)`;

const waitsOf = ({ waits }: Spent): string =>
  waits.length === 0
    ? ''
    : `; waited: ${waits.map(({ what, seconds }) => `${what} (${Math.round(seconds)} s)`).join(', ')}`;

/** The dearest files by wall time and by CPU, one a line: what belongs into another part (test/parts.ts). */
function printTimes(spent: readonly Spent[], cpu: number): void {
  const total = (of: 'seconds' | 'cpu') => Math.round(spent.reduce((sum, one) => sum + one[of], 0));
  const rest = `with what all of them share ${Math.round(cpu)} s`;
  console.log(`\n  ${spent.length} files, ${total('seconds')} s (CPU ${total('cpu')} s, ${rest})`);
  for (const [title, of] of [
    ['by time', 'seconds'],
    ['by CPU', 'cpu'],
  ] as const) {
    const shown = spent.toSorted((a, b) => b[of] - a[of]).slice(0, MOST_SHOWN);
    console.log(`  dearest ${title}:\n${shown.map((one) => `    ${timesOf(one)}`).join('\n')}`);
  }
}
