/** kubectl as a child process: its context, its rights, its proxy settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Invocation } from '../command.ts';
import { EXIT, Failure, Interrupted, masked, usage } from '../exits.ts';
import { oneLine } from '../terminal.ts';

export interface Kubectl {
  namespace: string;
  /** stdout of a kubectl that succeeded. `whole`: Ctrl-C does not reach it, since one that is cut may have written. */
  run(args: readonly string[], options?: { input?: string; mostBytes?: number; whole?: boolean }): Promise<string>;
  get<T>(...args: string[]): Promise<T>;
  /** A kubectl that goes on: the caller ends it. */
  start(args: readonly string[]): ChildProcess;
}

const NAMESPACE = 'probeyard';
const DEADLINE_MS = 60_000;
const MOST_BYTES = 128 * 1024 * 1024;

const notThere = (error: NodeJS.ErrnoException): Failure =>
  error.code === 'ENOENT'
    ? usage('kubectl is not installed, or not in PATH')
    : new Failure(`kubectl: ${error.message}`, EXIT.unknown);

type Given = Pick<Invocation, 'text' | 'env' | 'signal'>;

/** Where the release is, if the jobs are elsewhere. */
export const kubectlOfRelease = (given: Given): Kubectl => kubectlOf(given, given.text('release-namespace'));

export function kubectlOf({ text, env, signal }: Given, namespace: string = text('namespace') ?? NAMESPACE): Kubectl {
  const place = (['context', 'kubeconfig'] as const).flatMap((name) => {
    const value = text(name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
  // A terminal sends Ctrl-C to the whole group of processes.
  const spawned = (args: readonly string[], detached = false): ChildProcess =>
    spawn('kubectl', [...place, `--namespace=${namespace}`, ...args], { env, detached });

  const run: Kubectl['run'] = (args, { input = '', mostBytes = MOST_BYTES, whole = false } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawned(args, whole);
      const out: Buffer[] = [];
      let [bytes, said] = [0, ''];
      const late = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
      const interrupt = (): void => void child.kill('SIGTERM');
      if (!whole) signal.addEventListener('abort', interrupt);
      child.stdout!.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        // The beginning is kept: what is too long is cut.
        if (bytes - chunk.length < mostBytes) out.push(chunk.subarray(0, mostBytes - (bytes - chunk.length)));
      });
      child.stderr!.on('data', (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(0, 4_096);
      });
      child.on('error', (error) => reject(notThere(error)));
      child.on('close', (code) => {
        clearTimeout(late);
        signal.removeEventListener('abort', interrupt);
        if (code === 0) resolve(Buffer.concat(out).toString());
        else if (signal.aborted && !whole) reject(new Interrupted());
        else reject(new Failure(`kubectl: ${masked(oneLine(said.trim() || `ended with ${code}`))}`, EXIT.unknown));
      });
      child.stdin!.on('error', () => {});
      child.stdin!.end(input);
    });

  return {
    namespace,
    start: spawned,
    run,
    get: async <T>(...args: string[]) => JSON.parse(await run(['get', ...args, '--output=json'])) as T,
  };
}

/** `pj/NAME`, `probejob/NAME` or `NAME`. */
export function jobName(text: string): string {
  const name = text.replace(/^(?:pj|probejobs?(?:\.probeyard\.dev)?)\//, '');
  if (/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) return name;
  throw usage('the name of a ProbeJob is missing: NAME or pj/NAME');
}
