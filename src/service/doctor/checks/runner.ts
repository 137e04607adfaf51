/** Checks of what holds a taken-over tool or agent, and of where tools come from: in pods shaped as runners are. */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { release } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { encodeRequest, frameReader, TYPE, type Wall } from '../../runner/launcher_frames.ts';
import { reaches } from '../../runner/walls.ts';
import { probeOf, type Probe, type Verdict } from '../finding.ts';
import { shownTarget, type Target } from '../settings.ts';

export const kernel: Probe<string> = {
  id: 'kernel',
  title: 'kernel',
  wanted: 'Linux 5.9 or later; 6.3 for user namespaces',
  why: 'Below 5.9 the launcher cannot watch what tools connect to, and only NetworkPolicy limits it.',
  collect: () => Promise.resolve(release()),
  verdict(version) {
    const [major = Number.NaN, minor = Number.NaN] = version.split(/[.-]/, 2).map(Number);
    const number = major * 1000 + minor;
    if (Number.isNaN(number)) return { status: 'unknown', found: `Linux ${version}` };
    return { status: number >= 5_009 ? 'pass' : 'warn', found: `Linux ${version}` };
  },
};

/** Of `/proc/self/mountinfo`: the type of the file system at /sys/fs/cgroup, which stands behind a dash. */
export const typeIn = (mounts: string): string | undefined =>
  mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields[4] === '/sys/fs/cgroup')
    .map((fields) => fields[fields.indexOf('-') + 1])[0];

export const cgroup: Probe<string | undefined> = {
  id: 'cgroup',
  title: 'cgroup mode',
  wanted: 'cgroup v2',
  why: 'From Kubernetes 1.35 a kubelet refuses to start on cgroup v1 by default.',
  collect: async () => typeIn(await readFile('/proc/self/mountinfo', 'utf8')),
  verdict(type) {
    if (type === 'cgroup2') return { status: 'pass', found: 'v2' };
    if (type === undefined) return { status: 'unknown', found: 'nothing is mounted at /sys/fs/cgroup' };
    return { status: 'warn', found: type === 'tmpfs' || type === 'cgroup' ? 'v1' : `a ${type} at /sys/fs/cgroup` };
  },
};

/** The initial user namespace maps every id to itself. */
const isInitial = (uidMap: string): boolean => /^\s*0\s+0\s+4294967295\s*$/.test(uidMap);

const missing = (found: string): Verdict => ({ status: 'warn', found });

export const userNamespace: Probe<string> = {
  id: 'user-namespace',
  title: 'user namespaces',
  wanted: 'a pod with hostUsers: false has a user namespace of its own',
  why: 'Outside of its container the user of a tool is then nobody. Pools do without where it is only preferred.',
  collect: () => readFile('/proc/self/uid_map', 'utf8'),
  verdict: (uidMap) =>
    isInitial(uidMap)
      ? missing('the pod has the user ids of the node')
      : {
          status: 'pass',
          found: `user 0 of the pod is ${uidMap.trim().split(/\s+/)[1]} on the node`,
          set: { 'runners.isolation.require': ['UserNamespace'] },
        },
  // No room on the nodes is another matter.
  notStarted: ({ reason, message }) =>
    reason === 'Unschedulable' ? undefined : missing(`the pod did not start: ${reason}: ${message}`),
};

const LAUNCHER = '/app/bin/launcher';
const START_MS = 10_000;
const TRY_MS = 50;

const WALLS: Record<Wall, string> = {
  none: 'system calls cannot be filtered',
  filtered: 'system calls are filtered, connections are not watched',
  watched: 'system calls are filtered, connections are watched',
};

/** What the launcher says of its walls; undefined: it does not listen yet. */
function wallOf(socketPath: string): Promise<Wall | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const read = frameReader((event) => {
      if (event.type !== 'clean') return;
      socket.destroy();
      resolve(event.wall);
    });
    socket.once('connect', () => socket.write(encodeRequest(TYPE.killAll)));
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

export const syscallFilter: Probe<Wall> = {
  id: 'syscall-filter',
  title: 'system call filter',
  wanted: WALLS.watched,
  why: 'Otherwise only NetworkPolicy limits what a taken-over tool connects to. It needs Linux 5.9 and seccomp.',
  collect: ({ work }) => launcherWall(LAUNCHER, work),
  verdict: (wall) =>
    wall === 'watched'
      ? { status: 'pass', found: WALLS[wall], set: { 'runners.isolation.require': ['SyscallFilter'] } }
      : { status: 'warn', found: WALLS[wall] },
};

const tried = (targets: readonly Target[]) =>
  Promise.all(targets.map(async (target) => ({ target, open: await reaches(target) })));

const shown = (targets: readonly { target: Target }[]): string =>
  targets.map(({ target }) => shownTarget(target)).join(', ');

export const networkPolicy = probeOf({
  id: 'network-policy',
  title: 'NetworkPolicy',
  wanted: 'a runner reaches NATS, and no private or metadata address',
  why: 'Only the network holds a taken-over agent. Use one that enforces NetworkPolicy.',
  async collect({ closed, nats, settleMs, requireNetwork }) {
    await delay(settleMs);
    return { closed: await tried(closed), nats: await tried(nats), required: requireNetwork };
  },
  verdict({ closed, nats, required }) {
    const open = closed.filter((one) => one.open);
    const cut = nats.filter((one) => !one.open);
    if (cut.length > 0) return { status: 'fail', found: `a runner does not reach NATS at ${shown(cut)}` };
    if (open.length > 0)
      return { status: required ? 'fail' : 'warn', found: `not enforced: a runner reaches ${shown(open)}` };
    if (closed.length === 0) return { status: 'unknown', found: 'no address was given' };
    return {
      status: 'pass',
      found: `enforced: a runner does not reach ${shown(closed)}`,
      set: { 'runners.isolation.require': ['NetworkEnforced'] },
    };
  },
});

const PROGRAM = 'app/bin/node';
const RUN_MS = 20_000;

const bundled = (found: string): Verdict => ({ status: 'fail', found, set: { 'tools.delivery': 'bundled' } });

export const imageVolume = probeOf({
  id: 'image-volume',
  title: 'image volumes',
  wanted: 'a program runs from an image that is mounted as a volume',
  why: 'Runners mount each tool so. Where that is not possible, one image holds all tools (tools.delivery).',
  /** The code of the error with which the program in the image did not start; undefined: it ran. */
  async collect({ folder }) {
    if (folder === '') throw new Error('--folder is missing');
    try {
      await promisify(execFile)(join(folder, PROGRAM), ['--version'], { timeout: RUN_MS });
      return undefined;
    } catch (error) {
      return String((error as { code?: unknown }).code ?? (error as Error).message);
    }
  },
  verdict: (problem) =>
    problem === undefined
      ? { status: 'pass', found: 'a program in one runs', set: { 'tools.delivery': 'imageVolume' } }
      : bundled(`a program in one does not run: ${problem}`),
  // No room on the nodes is another matter.
  notStarted: ({ reason, message }) =>
    reason === 'Unschedulable' ? undefined : bundled(`the pod did not start: ${reason}: ${message}`),
});
