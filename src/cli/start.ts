/** Runs a program in this process: its signals, its output and its exit code. */
import type { Program } from './command.ts';
import { EXIT } from './failure.ts';
import { run } from './run.ts';

export async function start(program: Program, args: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (interrupt.signal.aborted) process.exit(EXIT.interrupted);
      interrupt.abort();
    });
  // Each write has its own error; without a listener one of them would end the process with a stack.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  process.exitCode = await run(program, args, {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: interrupt.signal,
  });
}
