/** Where output goes: data to stdout, everything else to stderr. */
import { masked } from './exits.ts';

interface Sink {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  write(chunk: string | Uint8Array, done: (error?: Error | null) => void): boolean;
}

export interface Terminal {
  /** Data. Resolves when it is written. */
  data(chunk: string | Uint8Array): Promise<void>;
  /** A line for people. */
  note(line: string): void;
  /** What goes on, on one line that the next one replaces; empty: clears it. Only on a terminal. */
  progress(line: string): void;
  /** Whether somebody watches the progress. */
  readonly watched: boolean;
  /** Whether stdout is a terminal. */
  readonly interactive: boolean;
  readonly width: number;
  readonly colour: boolean;
}

export interface TerminalOptions {
  stdout: Sink;
  stderr: Sink;
  env: NodeJS.ProcessEnv;
  quiet?: boolean;
  noColour?: boolean;
}

/** Output has nowhere to go any more: `probeyard log | head`. */
export class ClosedPipe extends Error {}

// Tags of media may contain sequences that a terminal obeys.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
export const printable = (text: string): string => text.replaceAll(CONTROL, '\ufffd');
export const oneLine = (text: string): string => printable(text.replaceAll(/[\r\n\t]+/g, ' '));

const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';

function wantsColour(stdout: Sink, env: NodeJS.ProcessEnv): boolean {
  if (isSet(env['NO_COLOR'])) return false;
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] !== '0';
  return stdout.isTTY === true && env['TERM'] !== 'dumb';
}

/** Some terminals say that they have no columns. */
const EVERY_COLUMN = 100;

export function makeTerminal({ stdout, stderr, env, quiet = false, noColour = false }: TerminalOptions): Terminal {
  const watched = stderr.isTTY === true && !quiet && env['TERM'] !== 'dumb';
  let shown = false;
  const write = (sink: Sink, chunk: string | Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      sink.write(chunk, (error) => {
        if (!error) resolve();
        else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new ClosedPipe() : error);
      });
    });
  const clear = (): string => {
    const sequence = shown ? '\r\u001b[2K' : '';
    shown = false;
    return sequence;
  };
  const say = (text: string): void => void write(stderr, text).catch(() => {});
  return {
    watched,
    interactive: stdout.isTTY === true,
    width: stdout.columns || EVERY_COLUMN,
    colour: !noColour && wantsColour(stdout, env),
    async data(chunk) {
      if (shown) say(clear());
      if (chunk.length > 0) await write(stdout, chunk);
    },
    note(line) {
      if (!quiet) say(`${clear()}${masked(printable(line))}\n`);
    },
    progress(line) {
      if (!watched) return;
      const cleared = clear();
      shown = line !== '';
      const most = (stderr.columns || EVERY_COLUMN) - 1;
      if (cleared !== '' || shown) say(`${cleared}${masked(oneLine(line)).slice(0, most)}`);
    },
  };
}
