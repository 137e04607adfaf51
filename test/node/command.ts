/** Runs programs of this machine with the code of images/, and turns failures into errors of the local cluster. */
import { attempt as attemptForImages, type CommandOptions, type CommandResult } from '../../images/command.ts';
import { ClusterError } from './cluster_error.ts';

export type { CommandOptions, CommandResult };

const TIMEOUT_MS = 600_000;

/** Runs a program to its end and returns its output, whatever its exit code. */
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

/** Runs a program that must succeed. Returns its output, or throws an error with it. */
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
