import { spawn } from 'node:child_process';
import { ClusterError } from './cluster_error.ts';

export interface CommandOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
  timeoutMs?: number;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end and hands back what it said, whatever its exit code. */
export function attempt(program: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 600_000,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.once('error', (error) => reject(new ClusterError('COMMAND_NOT_FOUND', `${program}: ${error.message}`, { cause: error })));
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    // A program that ends without reading its input is no error of ours.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

/** Runs a program that has to succeed; its output, or an error with what it printed. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await attempt(program, args, options);
  if (result.code !== 0) {
    const said = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(-20).join('\n');
    throw new ClusterError('COMMAND_FAILED', `${program} ${args.join(' ')}: exit ${result.code ?? 'by signal'}\n${said}`);
  }
  return result.stdout;
}
