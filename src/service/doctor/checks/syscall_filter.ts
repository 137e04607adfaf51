import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { encodeNumber, frameReader, TYPE, type Wall } from '../../runner/launcher_frames.ts';
import type { Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';

const LAUNCHER = '/app/bin/launcher';
const START_MS = 10_000;
const TRY_MS = 50;

const FOUND: Record<Wall, string> = {
  none: 'system calls cannot be filtered',
  filtered: 'system calls are filtered, connections are not watched',
  watched: 'system calls are filtered, connections are watched',
};

/** What the launcher says of its walls; undefined: it does not listen yet. */
function wallOf(socketPath: string): Promise<Wall | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const read = frameReader((event) => {
      if (event.type !== 'clean') return;
      socket.destroy();
      if (event.wall === undefined) reject(new Error('the launcher does not say what it filters'));
      else resolve(event.wall);
    });
    socket.once('connect', () => socket.write(encodeNumber(TYPE.killAll)));
    socket.once('error', () => resolve(undefined));
    socket.on('data', read);
  });
}

/** Of a launcher that is started for this: it tries its own walls first. */
export async function launcherWall(program: string, work: string): Promise<Wall> {
  const folder = await mkdtemp(join(work, 'doctor-'));
  const path = join(folder, 's');
  const child = spawn(program, [path, join(folder, 'none')], { stdio: 'ignore' });
  const seen: { end?: string } = {};
  child.once('error', ({ message }) => (seen.end = message));
  child.once('exit', (code) => (seen.end ??= `it ended with ${code}`));
  try {
    const end = performance.now() + START_MS;
    while (seen.end === undefined && performance.now() < end) {
      const wall = await wallOf(path);
      if (wall !== undefined) return wall;
      await delay(TRY_MS);
    }
    throw new Error(`the launcher does not answer: ${seen.end ?? `not within ${START_MS / 1000} s`}`);
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

export const syscallFilter: Probe<Wall, Settings> = {
  id: 'syscall-filter',
  title: 'system call filter',
  wanted: FOUND.watched,
  why: 'Otherwise only NetworkPolicy limits what a taken-over tool connects to. It needs Linux 5.9 and seccomp.',
  collect: ({ work }) => launcherWall(LAUNCHER, work),
  verdict: (wall) =>
    wall === 'watched'
      ? { status: 'pass', found: FOUND[wall], set: { 'runners.isolation.require': ['SyscallFilter'] } }
      : { status: 'warn', found: FOUND[wall] },
};
