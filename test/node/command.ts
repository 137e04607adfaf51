/** Programs of this machine, as the images' own code runs them; what goes wrong is an error of the local cluster. */
import { attempt as attemptForImages, type CommandOptions, type CommandResult } from '../../images/command.ts';
import { ClusterError } from './cluster_error.ts';

export type { CommandOptions, CommandResult };

const TIMEOUT_MS = 600_000;

/** Runs a program to its end and hands back what it said, whatever its exit code. */
export async function attempt(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  try {
    return await attemptForImages(program, args, { timeoutMs: TIMEOUT_MS, ...options });
  } catch (error) {
    throw new ClusterError('COMMAND_NOT_FOUND', (error as Error).message, { cause: error });
  }
}

/** Runs a program that has to succeed; its output, or an error with what it printed. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await attempt(program, args, options);
  if (result.code !== 0) {
    const said = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(-20).join('\n');
    throw new ClusterError(
      'COMMAND_FAILED',
      `${program} ${args.join(' ')}: exit ${result.code ?? 'by signal'}\n${said}`,
    );
  }
  return result.stdout;
}
