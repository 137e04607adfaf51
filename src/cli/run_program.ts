/** Runs one command line to its exit code. */
import { findCommand, readArguments } from './args.ts';
import type { Api } from './api/api_client.ts';
import type { Command, Format, Given, Program } from './command.ts';
import { EXIT, type ExitCode, Failure, Interrupted, masked, reasonText, usage } from './exits.ts';
import { ClosedPipe, makeTerminal, printable, type Terminal, type TerminalOptions } from './terminal.ts';

interface Surroundings extends Pick<TerminalOptions, 'stdout' | 'stderr' | 'env'> {
  signal: AbortSignal;
}

/** The bundle has the version of the package in its place. */
declare const PACKAGE_VERSION: string | undefined;

const ASKS_FOR_HELP = ['--help', '-h', 'help', undefined];

async function run(program: Program, args: readonly string[], around: Surroundings): Promise<ExitCode> {
  let terminal = makeTerminal(around);
  try {
    const [first, ...rest] = args;
    if (first === '--version' || first === '-V') return await printVersion(terminal);
    if (ASKS_FOR_HELP.includes(first)) return await printHelp(program, rest[0], terminal, first === undefined);
    const command = findCommand(program, first!);
    const given = readArguments(program, command, rest);
    terminal = makeTerminal({ ...around, quiet: given.has('quiet'), noColour: given.has('no-color') });
    if (given.has('help')) return await printHelp(program, command.name, terminal);
    return await runCommand(program, command, given, { ...around, terminal });
  } catch (error) {
    return report(error, around);
  }
}

async function runCommand(
  program: Program,
  command: Command,
  given: Given,
  { terminal, env, signal }: Surroundings & { terminal: Terminal },
): Promise<ExitCode> {
  const work = await command.run();
  const format = (given.text('output') ?? command.formats?.[0] ?? 'table') as Format;
  let api: Promise<Api> | undefined;
  const open = async (): Promise<Api> => {
    const [{ makeApi }, { accessOf }] = await Promise.all([import('./api/api_client.ts'), import('./cli_config.ts')]);
    return makeApi({ access: await accessOf(env), signal, terminal });
  };
  try {
    return await work({ ...given, format, env, terminal, program, signal, api: () => (api ??= open()) });
  } finally {
    terminal.progress('');
  }
}

async function printVersion(terminal: Terminal): Promise<ExitCode> {
  const version = typeof PACKAGE_VERSION === 'string' ? PACKAGE_VERSION : 'from source';
  await terminal.data(`probeyard ${version}\n`);
  return EXIT.done;
}

async function printHelp(
  program: Program,
  name: string | undefined,
  terminal: Terminal,
  isMistake = false,
): Promise<ExitCode> {
  const { commandHelp, programHelp } = await import('./help.ts');
  const text = name === undefined ? programHelp(program) : commandHelp(program, findCommand(program, name));
  if (isMistake) throw usage(`a command is missing\n\n${text.trimEnd()}`);
  await terminal.data(text);
  return EXIT.done;
}

/** One line that says what was wrong, and one about what to do. */
function report(error: unknown, { stderr, signal }: Surroundings): ExitCode {
  if (signal.aborted || error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof ClosedPipe) return EXIT.done;
  const failure = error instanceof Failure ? error : undefined;
  const lines = failure
    ? [`probeyard: ${reasonText(failure.reason)}`, ...(failure.hint === undefined ? [] : [`  ${failure.hint}`])]
    : [`probeyard: unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  stderr.write(`${masked(printable(lines.join('\n')))}\n`, () => {});
  return failure?.exitCode ?? EXIT.unknown;
}

/** Runs a program in this process: its signals, its output and its exit code. */
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
