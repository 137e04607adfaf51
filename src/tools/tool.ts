/** What a tool is: one descriptor each, from which the API, the controller, the runner and the images take their facts. */
import type { OptionSpec } from './option.ts';

export interface Printed {
  /** The exit code; null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
  format: 'json' | 'text';
}

/** A tool that runs as a program of its own. */
export interface Program<Name extends string = string> {
  name: Name;
  /** The options that callers may set. */
  options: readonly OptionSpec[];
  /** Everything after the command. The address is never the real one. Throws an OptionError. */
  args(options: Record<string, string>, address: string, run?: { wallMs: number }): string[];
  format(options: Record<string, string>): 'json' | 'text';
  /**
   * It reads a stream as it comes, and speaks RTSP. A tool that does not gets the beginning of a stream as a file, and
   * no RTSP.
   */
  readsStreams?: boolean;
  /** False where the source's certificate need not verify. */
  verifiesTls(options: Record<string, string>): boolean;
  /** The tool's own message, where what it printed is a failure. */
  failure(printed: Printed): string | undefined;
  /**
   * What a tool that did its work holds against the source: its result is a failure whose output stands. Given the
   * output's beginning.
   */
  verdict?(output: string): string | undefined;
}

/** The last line that says something. */
export function lastLine(text: string): string | undefined {
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .findLast((line) => line !== '');
}
