/** A tool is one descriptor, from which the API, the controller, the runner and the images take their facts. */
import type { OptionSpec } from './option.ts';

export interface Printed {
  /** The exit code; null where a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
  format: 'json' | 'text';
  /** Of the run. */
  options: Record<string, string>;
}

/** How an image is proven: what its program is asked, and how the answers are read. */
export interface Proof {
  /** The argument on which it prints its version, and the one on which it lists its options. */
  ask: { version: string; help: string };
  /** The line in which it names itself, with the version in its first group. */
  says: RegExp;
  /** The protocols that it reads. `print`: what it prints on an argument. */
  protocols?(print: (argument: string) => Promise<string>): Promise<string[]>;
  /**
   * What this build has or lacks beyond its options: `Output=XML`, `!Language`. `read`: what it prints of a sample with
   * a cover, on these arguments.
   */
  built?(
    print: (argument: string) => Promise<string>,
    help: string,
    read: (args: readonly string[]) => Promise<string>,
  ): Promise<string[]>;
  /** What is wrong with the JSON that it printed about a tenth of a second of silence, as WAV. Given in lower case. */
  misreads(said: string): string | undefined;
}

/** How it stands in `/v1/probe/file`, and in the envelope. */
export interface Section {
  /** Its name there, where it is not the tool's own. */
  as?: string;
  /** Whether it runs where the caller does not say. */
  byDefault: boolean;
  /** For the description of the API: what `enabled` does, and what the section is. */
  enables: string;
  description: string;
  /** Callers choose its version, its time limit and its options; otherwise the latest one runs for the whole time. */
  tunable?: boolean;
  /** It runs for this kind of source alone, unless no other tool runs beside it. */
  onlyFor?: 'hls';
  /** Members that it does not know are ignored, and named to the caller. */
  lenient?: boolean;
  /** With `inject_json` its document carries the results that stand behind it. */
  hosts?: boolean;
}

/** An endpoint of its own, `/v1/probe/<name>`, and with it a kind of job. */
export interface Endpoint {
  /** Of the whole analysis, where the caller names no time. */
  timeoutMs: number;
  /** Whether the output is an object in the envelope, where the caller does not say; otherwise a text that holds it. */
  injectJson: boolean;
}

/** For the types of the table: it stands in the file endpoint; it has an endpoint of its own; it has an image. */
export type InFile<T> = T & { file: Section };
export type WithEndpoint<T> = T & { endpoint: Endpoint };
export type InImage<T> = T & { proof: Proof };

export interface Run {
  wallMs: number;
  /** Other tools run in the same container. */
  beside?: boolean;
}

/** A tool that runs as a program of its own. */
export interface Program<Name extends string = string> {
  name: Name;
  /** The options that callers may set. */
  options: readonly OptionSpec[];
  /** Refuses options that do not go together. Throws an OptionError. */
  agree?(options: Readonly<Record<string, string>>): void;
  /** Everything after the command. The address is never the real one. Throws an OptionError. */
  args(options: Record<string, string>, address: string, run?: Run): string[];
  format(options: Record<string, string>): 'json' | 'text';
  /**
   * It reads a stream as it comes, and speaks RTSP. A tool that does not gets the beginning of a stream as a file, and
   * no RTSP.
   */
  readsStreams?: boolean;
  /** It judges playlists, so it gets them as they are; the others get them with the addresses of the source proxy. */
  readsPlaylistsAsTheyAre?: boolean;
  /** It fetches what a source names, whatever the source is: that is read with the source's credentials. */
  followsParts?: boolean;
  /** False where the source's certificate need not verify. */
  verifiesTls(options: Record<string, string>): boolean;
  /** The tool's own message, where what it printed is a failure. */
  failure(printed: Printed): string | undefined;
  /**
   * What a tool that did its work holds against the source: its result is a failure whose output stands. Given the
   * output's beginning.
   */
  verdict?(output: string): string | undefined;
  /** Where callers choose the format of the output: its name by their options, and the media type that each has. */
  formats?: { of(options: Readonly<Record<string, unknown>>): string; mediaType(format: string): string };
  file?: Section;
  endpoint?: Endpoint;
  /** How long it may run where the caller names no time: TOOL_TIMEOUT_MS, or this. */
  timeoutMs?: number;
  /** Absent for a program that comes with the product. */
  proof?: Proof;
}

/** A result that the agent makes of what programs printed. */
export interface Derived<Name extends string = string, From extends string = string> {
  name: Name;
  from: readonly From[];
  options: readonly OptionSpec[];
  file?: Section;
}

/** The last line that says something. */
export function lastLine(text: string): string | undefined {
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .findLast((line) => line !== '');
}

/** For a tool that decodes: the stream of the sample is PCM. */
export const findsPcm = (said: string): string | undefined =>
  said.includes('pcm') ? undefined : 'it does not find the PCM stream of a WAV';
