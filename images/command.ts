import { type ChildProcess, spawn } from 'node:child_process';
import { ImageError } from './image_error.ts';

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
  timeoutMs?: number;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

const children = new Set<ChildProcess>();
// A step that fails ends those beside it.
process.once('exit', () => {
  for (const child of children) child.kill();
});

/** Runs a program to its end, whatever its exit code. */
export function attempt(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.add(child);
    // Not the timeout of spawn, which keeps this process alive for its whole duration if the program does not exist.
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 900_000);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', (error) => {
      children.delete(child);
      clearTimeout(timer);
      reject(new ImageError('COMMAND_NOT_FOUND', `${program}: ${error.message}`, { cause: error }));
    });
    child.once('close', (code) => {
      children.delete(child);
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Runs a program that must succeed. The error has the last lines of its output. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code === 0) return stdout;
  const lines = `${stdout}\n${stderr}`.trim().split('\n');
  // Some programs print the error first and then their complete help, others a long log and then the error.
  const said = (lines.length > 40 ? [...lines.slice(0, 8), '...', ...lines.slice(-20)] : lines).join('\n');
  throw new ImageError(
    'COMMAND_FAILED',
    `${program} ${args.slice(0, 4).join(' ')}: exit ${code ?? 'by signal'}\n${said}`,
  );
}
