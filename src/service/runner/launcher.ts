/**
 * The agent's side of the launcher: starts tools over its unix socket and collects their output. The connection is
 * retried forever: if the tools container dies (running out of memory kills all of it), its launcher restarts.
 */
import { connect, type Socket } from 'node:net';
import { constants } from 'node:os';
import { backoff, within } from '../../base/retry.ts';
import {
  type Event,
  type Exit,
  encodeConfirm,
  encodeNumber,
  encodeStart,
  frameReader,
  type Spawn,
  TYPE,
  type Wall,
} from './launcher_frames.ts';

export type { Exit, Limits, Spawn } from './launcher_frames.ts';

export class LauncherError extends Error {
  /**
   * lost: the tools container died. late: no answer in time. exec-*: the tool cannot be started. unconfirmed: it was
   * begun before the admission, and too late or not confirmed in time.
   */
  readonly code:
    'lost' | 'late' | 'not-connected' | 'exec-missing' | 'exec-refused' | 'exec-format' | 'exec-failed' | 'unconfirmed';
  constructor(code: LauncherError['code'], message: string) {
    super(message);
    this.name = 'LauncherError';
    this.code = code;
  }
}

export interface Finished {
  exit: Exit;
  stdout: Buffer;
  stderr: Buffer;
}
export interface Running {
  started: Promise<{ pid: number; spawnUs: number }>;
  /** Rejects with a LauncherError if no exit was reported. */
  finished: Promise<Finished>;
  kill(): void;
}

export interface Launcher {
  connected(): boolean;
  /** The walls around the tools, as the launcher reported them with its last clean-up; undefined before that. */
  wall(): Wall | undefined;
  whenConnected(deadlineMs: number): Promise<void>;
  /**
   * `onOutput` gets what is printed in place of `stdout`, which then stays empty. `number`: begins before the
   * admission.
   */
  start(spawn: Spawn, onOutput?: (bytes: Buffer) => void, number?: bigint): Running;
  /**
   * A number for tools that begin before their job is admitted, valid once and for a moment; undefined if the launcher
   * does not answer, or is of an older image.
   */
  arm(): Promise<bigint | undefined>;
  /** What was begun with the number goes on. */
  confirm(number: bigint): void;
  /**
   * Kills all processes in the tools container and empties its directories. False if something is left, or the launcher
   * does not answer.
   */
  killAll(): Promise<boolean>;
  /**
   * Like killAll, and the launcher becomes a new process: its memory held pieces of what the tools printed. False also
   * if the launcher is of an older image.
   */
  renew(): Promise<boolean>;
  ping(): Promise<void>;
  close(): void;
}

export interface LauncherOptions {
  answerMs?: number;
  cleanMs?: number;
  onConnect?: () => void;
  onLost?: () => void;
}

interface Tool {
  onOutput: (bytes: Buffer) => void;
  stdout: Buffer[];
  stderr: Buffer[];
  started: PromiseWithResolvers<{ pid: number; spawnUs: number }>;
  finished: PromiseWithResolvers<Finished>;
  timer: NodeJS.Timeout;
}

interface Cleaning {
  resolve: (clean: boolean) => void;
  renews: boolean;
}

/** Short, because a new pod is ready as soon as its agent has connected to the launcher. */
const RECONNECT = { first: 10, longest: 50, jitter: 0 };
/** Time that the launcher has beyond a tool's wall time to report its end. */
const GRACE_MS = 10_000;

export function openLauncher(path: string, options: LauncherOptions = {}): Launcher {
  const { answerMs = 5_000, cleanMs = 10_000 } = options;
  const tools = new Map<number, Tool>();
  let waiting: PromiseWithResolvers<void>[] = [];
  let cleaning: Cleaning[] = [];
  let arming: ((number: bigint | undefined) => void)[] = [];
  const pings = new Map<number, () => void>();
  let socket: Socket | undefined;
  let ready = false;
  let closed = false;
  const wait = backoff(RECONNECT);
  let retry: NodeJS.Timeout | undefined;
  let last = 0;
  let wall: Wall | undefined;
  let arms = false;
  let renews = false;

  const end = (id: number): Tool | undefined => {
    const tool = tools.get(id);
    if (tool) clearTimeout(tool.timer);
    tools.delete(id);
    return tool;
  };
  const fail = (id: number, error: LauncherError) => {
    const tool = end(id);
    tool?.started.reject(error);
    tool?.finished.reject(error);
  };

  const onEvent = (event: Event) => {
    if (event.type === 'clean') {
      wall = event.wall ?? wall;
      ({ arms, renews } = event);
      cleaning.shift()?.resolve(event.clean);
      return;
    }
    if (event.type === 'armed') return arming.shift()?.(event.number);
    if (event.type === 'pong') return pings.get(event.id)?.();
    const tool = tools.get(event.id);
    if (!tool) return;
    if (event.type === 'started') tool.started.resolve({ pid: event.pid, spawnUs: event.spawnUs });
    else if (event.type === 'out') tool.onOutput(event.bytes);
    else if (event.type === 'err') tool.stderr.push(event.bytes);
    else if (event.type === 'failed') fail(event.id, execError(event.errno, event.stage));
    else if (event.exit.unconfirmed)
      fail(event.id, new LauncherError('unconfirmed', 'the tool was ended, because its job was not admitted in time'));
    else
      end(event.id)?.finished.resolve({
        exit: event.exit,
        stdout: Buffer.concat(tool.stdout),
        stderr: Buffer.concat(tool.stderr),
      });
  };

  const lost = () => {
    const was = ready;
    ready = false;
    socket = undefined;
    for (const id of tools.keys()) fail(id, new LauncherError('lost', 'the tools container ended'));
    for (const resolve of arming) resolve(undefined);
    arming = [];
    arms = false;
    // Whether the launcher became a new process is not known.
    for (const { renews: isRenewal, resolve } of cleaning) if (isRenewal) resolve(false);
    cleaning = cleaning.filter(({ renews: isRenewal }) => !isRenewal);
    if (was) options.onLost?.();
    if (closed) return;
    retry = setTimeout(dial, wait.next());
  };

  const dial = () => {
    const dialled = connect(path);
    socket = dialled;
    const read = frameReader(onEvent);
    dialled.on('connect', () => {
      ready = true;
      wait.reset();
      for (const waiter of waiting) waiter.resolve();
      waiting = [];
      // Requested before the connection broke: the current launcher answers for what is left.
      for (const _ of cleaning) dialled.write(encodeNumber(TYPE.killAll));
      options.onConnect?.();
    });
    dialled.on('data', (bytes: Buffer) => {
      try {
        read(bytes);
      } catch {
        dialled.destroy();
      }
    });
    dialled.on('error', () => {});
    dialled.on('close', lost);
  };
  dial();

  const clean = async (isRenewal: boolean): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const asked: Cleaning = { resolve, renews: isRenewal };
    cleaning.push(asked);
    if (ready) socket?.write(encodeNumber(isRenewal ? TYPE.renew : TYPE.killAll));
    return within(cleanMs, promise, () => new LauncherError('late', 'the launcher did not clean up')).catch(() => {
      cleaning = cleaning.filter((one) => one !== asked);
      socket?.destroy();
      return false;
    });
  };

  return {
    connected: () => ready,
    wall: () => wall,
    async whenConnected(deadlineMs) {
      if (ready) return;
      const waiter = Promise.withResolvers<void>();
      waiting.push(waiter);
      await within(
        deadlineMs,
        waiter.promise,
        () => new LauncherError('not-connected', 'the launcher does not answer'),
      );
    },
    start(spawn, onOutput, number) {
      last = (last + 1) % 0x7fff_ffff;
      const id = last;
      const started = Promise.withResolvers<{ pid: number; spawnUs: number }>();
      const finished = Promise.withResolvers<Finished>();
      // Callers may await either promise without the other.
      started.promise.catch(() => {});
      finished.promise.catch(() => {});
      // After this the launcher itself hangs. It kills everything when its connection closes.
      const timer = setTimeout(() => {
        fail(id, new LauncherError('late', 'the launcher did not report the end of the tool'));
        socket?.destroy();
      }, spawn.limits.wallMs + GRACE_MS);
      const stdout: Buffer[] = [];
      const keep = (bytes: Buffer): void => void stdout.push(bytes);
      tools.set(id, { onOutput: onOutput ?? keep, stdout, stderr: [], started, finished, timer });
      if (!socket || !ready) fail(id, new LauncherError('not-connected', 'the launcher does not answer'));
      else socket.write(encodeStart(id, spawn, number));
      return {
        started: started.promise,
        finished: finished.promise,
        kill: () => {
          if (ready) socket?.write(encodeNumber(TYPE.kill, id));
        },
      };
    },
    async arm() {
      if (!socket || !ready || !arms) return undefined;
      const { promise, resolve } = Promise.withResolvers<bigint | undefined>();
      arming.push(resolve);
      socket.write(encodeNumber(TYPE.arm));
      return promise;
    },
    confirm(number) {
      if (ready) socket?.write(encodeConfirm(number));
    },
    killAll: () => clean(false),
    renew: () => (ready && renews ? clean(true) : Promise.resolve(false)),
    async ping() {
      if (!socket || !ready) throw new LauncherError('not-connected', 'the launcher does not answer');
      last = (last + 1) % 0x7fff_ffff;
      const id = last;
      const pong = Promise.withResolvers<void>();
      pings.set(id, pong.resolve);
      socket.write(encodeNumber(TYPE.ping, id));
      await within(answerMs, pong.promise, () => new LauncherError('late', 'the launcher does not answer')).finally(
        () => pings.delete(id),
      );
    },
    close() {
      closed = true;
      clearTimeout(retry);
      socket?.destroy();
    },
  };
}

/** The message is for the log: callers only see that the tool is unavailable. */
function execError(errno: number, stage: number): LauncherError {
  const { ENOENT, ENOTDIR, EACCES, EPERM, ENOEXEC } = constants.errno;
  const name = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
  if (stage === 2) return new LauncherError('unconfirmed', 'the tool was to begin too late');
  if (stage === 0) return new LauncherError('exec-failed', `cannot create a process: ${name}`);
  if (errno === ENOENT || errno === ENOTDIR)
    return new LauncherError('exec-missing', `the program or its loader is missing: ${name}`);
  if (errno === EACCES || errno === EPERM)
    return new LauncherError('exec-refused', `the program is not executable: ${name}`);
  if (errno === ENOEXEC)
    return new LauncherError('exec-format', `the program is of another format or architecture: ${name}`);
  return new LauncherError('exec-failed', `cannot execute the program: ${name}`);
}
