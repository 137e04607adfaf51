/**
 * The agent's side of the launcher: starts tools over its unix socket and collects their output. The connection is
 * retried forever: if the tools container dies (running out of memory kills all of it), its launcher restarts.
 */
import { connect, type Socket } from 'node:net';
import { constants } from 'node:os';
import { CodedError } from '../../base/coded_error.ts';
import { backoff, within } from '../../base/retry.ts';
import {
  type Event,
  type Exit,
  encodeRequest,
  encodeStart,
  frameReader,
  type Spawn,
  TYPE,
  type Wall,
} from './launcher_frames.ts';

export type { Exit, Limits, Spawn } from './launcher_frames.ts';

/** lost: the tools container died. late: no answer in time. exec-failed: the tool cannot be started. */
export class LauncherError extends CodedError<'lost' | 'late' | 'not-connected' | 'exec-failed'> {}

export interface Finished {
  exit: Exit;
  stdout: Buffer;
  stderr: Buffer;
}

export interface LauncherOptions {
  cleanMs?: number;
  onConnect?: () => void;
  onLost?: () => void;
}

interface Tool {
  onOutput: (bytes: Buffer) => void;
  stdout: Buffer[];
  stderr: Buffer[];
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

const notConnected = (): LauncherError => new LauncherError('not-connected', 'the launcher does not answer');

export class Launcher {
  readonly #path: string;
  readonly #options: LauncherOptions;
  #socket: Socket | undefined;
  #ready = false;
  #closed = false;
  readonly #wait = backoff(RECONNECT);
  #retry: NodeJS.Timeout | undefined;
  /** The last id of a tool. */
  #last = 0;
  /** What the launcher said of itself with its last clean-up. */
  #wall: Wall | undefined;

  // Who waits for an answer.
  readonly #tools = new Map<number, Tool>();
  #connecting: PromiseWithResolvers<void>[] = [];
  #cleaning: Cleaning[] = [];

  constructor(path: string, options: LauncherOptions = {}) {
    this.#path = path;
    this.#options = options;
    this.#dial();
  }

  connected(): boolean {
    return this.#ready;
  }

  /** The walls around the tools, as the launcher reported them with its last clean-up; undefined before that. */
  wall(): Wall | undefined {
    return this.#wall;
  }

  async whenConnected(deadlineMs: number): Promise<void> {
    if (this.#ready) return;
    const connecting = Promise.withResolvers<void>();
    this.#connecting.push(connecting);
    await within(deadlineMs, connecting.promise, notConnected);
  }

  /**
   * Rejects with a LauncherError if no exit was reported. `onOutput` gets what is printed in place of `stdout`, which
   * then stays empty.
   */
  run(spawn: Spawn, onOutput?: (bytes: Buffer) => void): Promise<Finished> {
    this.#last = (this.#last + 1) % 0x7fff_ffff;
    const id = this.#last;
    const finished = Promise.withResolvers<Finished>();
    // After this the launcher itself hangs. It kills everything when its connection closes.
    const timer = setTimeout(() => {
      this.#fail(id, new LauncherError('late', 'the launcher did not report the end of the tool'));
      this.#socket?.destroy();
    }, spawn.limits.wallMs + GRACE_MS);
    const stdout: Buffer[] = [];
    const keep = (bytes: Buffer): void => void stdout.push(bytes);
    this.#tools.set(id, { onOutput: onOutput ?? keep, stdout, stderr: [], finished, timer });
    if (!this.#socket || !this.#ready) this.#fail(id, notConnected());
    else this.#socket.write(encodeStart(id, spawn));
    return finished.promise;
  }

  /**
   * Kills all processes in the tools container and empties its directories. False if something is left, or the launcher
   * does not answer.
   */
  killAll(): Promise<boolean> {
    return this.#clean(false);
  }

  /** Like killAll, and the launcher becomes a new process: its memory held pieces of what the tools printed. */
  async renew(): Promise<boolean> {
    return this.#ready ? this.#clean(true) : false;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#socket?.destroy();
  }

  // The connection.

  #dial(): void {
    const dialled = connect(this.#path);
    this.#socket = dialled;
    const read = frameReader((event) => this.#onEvent(event));
    dialled.on('connect', () => this.#onConnect(dialled));
    dialled.on('data', (bytes: Buffer) => {
      try {
        read(bytes);
      } catch {
        dialled.destroy();
      }
    });
    dialled.on('error', () => {});
    dialled.on('close', () => this.#onLost());
  }

  #onConnect(dialled: Socket): void {
    this.#ready = true;
    this.#wait.reset();
    for (const connecting of this.#connecting) connecting.resolve();
    this.#connecting = [];
    // Requested before the connection broke: the current launcher answers for what is left.
    for (const _ of this.#cleaning) dialled.write(encodeRequest(TYPE.killAll));
    this.#options.onConnect?.();
  }

  #onLost(): void {
    const was = this.#ready;
    this.#ready = false;
    this.#socket = undefined;
    for (const id of this.#tools.keys()) this.#fail(id, new LauncherError('lost', 'the tools container ended'));
    // Whether the launcher became a new process is not known.
    for (const { renews, resolve } of this.#cleaning) if (renews) resolve(false);
    this.#cleaning = this.#cleaning.filter(({ renews }) => !renews);
    if (was) this.#options.onLost?.();
    if (this.#closed) return;
    this.#retry = setTimeout(() => this.#dial(), this.#wait.next());
  }

  // The answers.

  #onEvent(event: Event): void {
    if (event.type === 'clean') {
      this.#wall = event.wall;
      this.#cleaning.shift()?.resolve(event.clean);
    } else {
      const tool = this.#tools.get(event.id);
      if (tool) this.#onToolEvent(tool, event);
    }
  }

  #onToolEvent(tool: Tool, event: ToolEvent): void {
    if (event.type === 'out') tool.onOutput(event.bytes);
    else if (event.type === 'err') tool.stderr.push(event.bytes);
    else if (event.type === 'failed') this.#fail(event.id, execError(event.errno, event.stage));
    else
      this.#end(event.id)?.finished.resolve({
        exit: event.exit,
        stdout: Buffer.concat(tool.stdout),
        stderr: Buffer.concat(tool.stderr),
      });
  }

  #end(id: number): Tool | undefined {
    const tool = this.#tools.get(id);
    if (tool) clearTimeout(tool.timer);
    this.#tools.delete(id);
    return tool;
  }

  #fail(id: number, error: LauncherError): void {
    this.#end(id)?.finished.reject(error);
  }

  async #clean(renews: boolean): Promise<boolean> {
    const { cleanMs = 10_000 } = this.#options;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const asked: Cleaning = { resolve, renews };
    this.#cleaning.push(asked);
    if (this.#ready) this.#socket?.write(encodeRequest(renews ? TYPE.renew : TYPE.killAll));
    return within(cleanMs, promise, () => new LauncherError('late', 'the launcher did not clean up')).catch(() => {
      this.#cleaning = this.#cleaning.filter((one) => one !== asked);
      this.#socket?.destroy();
      return false;
    });
  }
}

type ToolEvent = Exclude<Event, { type: 'clean' }>;

function execError(errno: number, stage: number): LauncherError {
  const name = Object.entries(constants.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
  return new LauncherError(
    'exec-failed',
    `cannot ${stage === 0 ? 'create a process' : 'execute the program'}: ${name}`,
  );
}
