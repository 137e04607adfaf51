/** Processes of servers for tests, and their directories and ports. All end with the test run. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

export class ServerError extends Error {
  readonly code: 'not-installed' | 'not-started';
  constructor(code: ServerError['code'], message: string) {
    super(message);
    this.name = 'ServerError';
    this.code = code;
  }
}

export const STARTED_WITHIN_MS = 30_000;
const STOPPED_WITHIN_MS = 15_000;

// However this process ends, its servers and directories go with it.
const running = new Set<ChildProcess>();
const directories = new Set<string>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 4 * 2 ** 30;
const hasRoom = (): boolean => {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize >= ROOM_BYTES;
};
/**
 * Where servers keep their data: in memory, where there is room. A copy of a migrated Postgres, its start and its end
 * take 0.14 s of CPU there, and 0.5 s on ext4.
 */
export const SERVERS_FOLDER = process.env['TMPDIR'] === undefined && hasRoom() ? IN_MEMORY : tmpdir();

export function makeDirectory(name: string): string {
  const directory = mkdtempSync(join(SERVERS_FOLDER, `probeyard-${name}-`));
  directories.add(directory);
  return directory;
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  directories.delete(directory);
}

interface Daemon {
  pid(): number;
  start(): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** A process that can be stopped and started again in the same place. Its output is shown if it does not start. */
export function daemon(
  command: string,
  args: string[],
  user: { uid?: number; gid?: number },
  ready: () => Promise<unknown>,
  place: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
  withinMs = STARTED_WITHIN_MS,
): Daemon {
  let child: ChildProcess | undefined;
  return {
    pid: () => child?.pid ?? 0,
    async start() {
      let output = '';
      const started = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...user, ...place });
      child = started;
      running.add(started);
      started.once('exit', () => running.delete(started));
      for (const stream of [started.stdout, started.stderr])
        stream?.setEncoding('utf8').on('data', (text: string) => {
          output = (output + text).slice(-4000);
        });
      try {
        await until(
          `${command} answers`,
          async () => {
            if (started.exitCode !== null || started.signalCode !== null) return 'exited';
            await ready();
            return 'ready';
          },
          withinMs,
        );
        if (started.exitCode !== null) throw new Error(`it exited with ${started.exitCode}`);
      } catch (error) {
        started.kill('SIGKILL');
        throw new ServerError('not-started', `${command}: ${(error as Error).message}\n${output}`);
      }
    },
    async end(signal) {
      const ending = child;
      child = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      const exited = once(ending, 'exit');
      ending.kill(signal);
      const late = setTimeout(() => ending.kill('SIGKILL'), STOPPED_WITHIN_MS);
      await exited;
      clearTimeout(late);
    },
  };
}
