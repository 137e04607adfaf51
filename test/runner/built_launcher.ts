/** The launcher, compiled from its source once per test run, and started as a separate process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Limits } from '../../src/service/runner/launcher_frames.ts';
import { oncePerRun } from '../once_per_run.ts';
import { until } from '../until.ts';

/** Of the tools of most tests. */
export const LIMITS: Limits = {
  wallMs: 20_000,
  cpuSeconds: 20,
  dataBytes: 0,
  fileBytes: 0,
  processes: 0,
  files: 256,
  stdoutBytes: 1 << 20,
  stderrBytes: 4096,
};

const DIRECTORY = join(import.meta.dirname, '../../images/probeyard');
/** The flags of the image: its Dockerfile reads the same file. */
const FLAGS = readFileSync(join(DIRECTORY, 'launcher/cflags'), 'utf8').trim().split(/\s+/);

export const buildLauncher = (): Promise<string> => build('launcher', ['launcher.c', 'wall.c']);
export const buildListener = (): Promise<string> => build('listener', ['listener.c']);

async function build(name: string, files: readonly string[]): Promise<string> {
  const folder = await oncePerRun(`compiled-${name}`, async (made) => {
    const sources = files.map((file) => join(DIRECTORY, name, file));
    const args = [...FLAGS, '-Wall', '-Wextra', '-Werror', ...sources, '-o', join(made, name)];
    const { error, status, stderr } = spawnSync('cc', args, { encoding: 'utf8' });
    if (error) throw new Error('no C compiler: apt-get install gcc libc6-dev', { cause: error });
    if (status !== 0) throw new Error(stderr);
  });
  return join(folder, name);
}

export interface LauncherProcess {
  socket: string;
  tmp: string;
  pid: number;
  process: ChildProcess;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** `init`: as PID 1 of a new PID namespace, as in a pod. `uid`: as another user, so that process limits apply. */
/** The file of a socket is there before its process listens (flag SO_ACCEPTCON). */
const isListening = (socket: string): boolean =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .some((line) => line.endsWith(` ${socket}`) && line.split(/\s+/)[3] === '00010000');

export async function startLauncher(options: { init?: boolean; uid?: number } = {}): Promise<LauncherProcess> {
  const path = await buildLauncher();
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-launcher-'));
  chmodSync(directory, 0o777);
  const tmp = join(directory, 'tmp');
  // The launcher empties the directory of its socket, too.
  const run = join(directory, 'run');
  const socket = join(run, 'launcher.sock');
  for (const made of [tmp, run]) {
    mkdirSync(made);
    chmodSync(made, 0o777);
  }
  const begin = async () => {
    const args = options.init ? ['--pid', '--fork', '--kill-child', '--mount-proc', path, socket, tmp] : [socket, tmp];
    const child = spawn(options.init ? 'unshare' : path, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    });
    await until('the launcher listens', () => {
      if (child.exitCode !== null) throw new Error(`the launcher exited with ${child.exitCode}`);
      return isListening(socket);
    });
    return child;
  };
  let child = await begin();
  // Kills the launcher even if the test run dies before its `after`.
  const killed = () => child.kill('SIGKILL');
  process.on('exit', killed);
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(socket, { force: true });
  };
  return {
    socket,
    tmp,
    get pid() {
      return child.pid ?? 0;
    },
    get process() {
      return child;
    },
    async stop() {
      process.off('exit', killed);
      await end();
      rmSync(directory, { recursive: true, force: true });
    },
    async restart() {
      await end();
      child = await begin();
    },
  };
}
