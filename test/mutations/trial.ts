/** Runs a file of tests in a copy of the tree, and says what came of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Copy } from './copy.ts';
import type { Mutation } from './mutation.ts';

/** `broken`: the tests did not get as far as a test. Red by that says nothing of the guard. */
export type Verdict = 'green' | 'red' | 'late' | 'broken';
export interface Trial { verdict: Verdict; ms: number; passes: number; /** The first that failed, or why there is nothing to tell. */ detail: string }

const TRIAL_MS = 150_000;
const BUILD_MS = 600_000;
/** Of each user id but root's: what a guard keeps from the machine must not reach it where the guard is taken out. */
const MOST_PROCESSES = 2_000;

interface Report { stats: { passes: number; failures: number; pending: number }; failures: { fullTitle: string; err?: { message?: string } }[] }

let running: ChildProcess | undefined;
/** Whatever a trial started goes with it. */
function end(child: ChildProcess): void {
  try {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  } catch {
    // All of its group has ended.
  }
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { if (running) end(running); process.exit(1); });

async function run(copy: Copy, args: string[], withinMs: number): Promise<{ late: boolean; said: string }> {
  const child = spawn('prlimit', [`--nproc=${MOST_PROCESSES}:${MOST_PROCESSES}`, process.execPath, ...args], { cwd: copy.root, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: copy.tmp, NODE_COMPILE_CACHE: join(copy.tmp, 'compiled') } });
  running = child;
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { said = (said + text).slice(-2_000); });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end(child);
  }, withinMs);
  await once(child, 'exit');
  clearTimeout(timer);
  end(child);
  running = undefined;
  return { late, said };
}

/** The first failure decides: nothing after it is run. */
export async function trial(copy: Copy, { test, grep, build }: Pick<Mutation, 'test' | 'grep' | 'build'>): Promise<Trial> {
  const began = performance.now();
  const output = join(copy.tmp, 'report.json');
  rmSync(output, { force: true });
  if (build !== undefined) await run(copy, [build], BUILD_MS);
  const args = ['node_modules/mocha/bin/mocha.js', test, '--bail', '--exit', '--timeout', '30000', '--reporter', 'json', '--reporter-option', `output=${output}`, ...(grep === undefined ? [] : ['--fgrep', grep])];
  const { late, said } = await run(copy, args, TRIAL_MS);
  const done = (verdict: Verdict, passes: number, detail: string): Trial => ({ verdict, ms: Math.round(performance.now() - began), passes, detail });
  if (late) return done('late', 0, `not done within ${TRIAL_MS / 1000} s`);
  if (!existsSync(output)) return done('broken', 0, said.trim());
  const { stats, failures } = JSON.parse(readFileSync(output, 'utf8')) as Report;
  const [first] = failures;
  if (first) return done(first.fullTitle.includes('"before') ? 'broken' : 'red', stats.passes, `${first.fullTitle}: ${first.err?.message?.split('\n')[0] ?? ''}`);
  return stats.passes === 0 ? done('broken', 0, stats.pending > 0 ? 'skipped' : 'no such test') : done('green', stats.passes, '');
}
