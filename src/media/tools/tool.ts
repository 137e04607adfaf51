/** The descriptor of a tool, from which the API, the controller, the runner and the images derive everything. */
import type { TSchema } from 'typebox';
import type { ContentKind } from './content.ts';
import type { QcStream } from '../qc/graph.ts';
import type { OptionSpec } from './option.ts';

export interface Printed {
  /** The exit code; null if a signal ended the process. */
  code: number | null;
  stdout: string;
  stderr: string;
  format: 'json' | 'text';
  /** Options of the run. */
  options: Record<string, string>;
}

/** How an image is proven: the arguments of its program, and how the output is read. */
export interface Proof {
  /** The arguments that print its version, and list its options. */
  ask: { version: string; help: string };
  /** Matches the version line, with the version in its first group. */
  says: RegExp;
  /** The supported input protocols. `print`: runs the program with an argument and returns its output. */
  protocols?(print: (argument: string) => Promise<string>): Promise<string[]>;
  /**
   * Features that this build has or lacks beyond its options: `Output=XML`, `!Language`. `read`: runs the program with
   * these arguments on a sample with a cover.
   */
  built?(
    print: (argument: string) => Promise<string>,
    help: string,
    read: (args: readonly string[]) => Promise<string>,
  ): Promise<string[]>;
  /** Of a tool that prints no JSON: how it runs on the sample, and the parser of what it prints. */
  sample?: { run: Run; parsed(stdout: string): Promise<object> };
  /** What is wrong in its JSON about a tenth of a second of silence, as WAV. The JSON is passed in lower case. */
  misreads(said: string): string | undefined;
}

/** Its section in `/v1/probe/file` and in the envelope. */
export interface Section {
  /** The section's name, if it differs from the tool's. */
  as?: string;
  /** Default of `enabled`. */
  byDefault: boolean;
  /** Texts for the API description: the effect of `enabled`, and the section itself. */
  enables: string;
  description: string;
  /** Callers may choose version, time-out and options. Otherwise the latest version runs within the whole time. */
  tunable?: boolean;
  /** Runs only for this kind of source, unless it is the only tool. */
  onlyFor?: 'hls';
  /** Unknown members are ignored and reported to the caller. */
  lenient?: boolean;
  /** With `inject_json`, its document includes the results after it. */
  hosts?: boolean;
}

/** An endpoint of its own, `/v1/probe/<section>`, and a kind of job. Its fields include the tool's options. */
export interface Endpoint {
  /** Default time-out of the whole analysis. */
  timeoutMs: number;
  /** Default of `inject_json`: the output is an object in the envelope, otherwise a text that contains it. */
  injectJson: boolean;
  /** Texts and requests for the API description. */
  summary: string;
  description: string;
  examples: Readonly<Record<string, { summary: string; value: { url: string } & Record<string, unknown> }>>;
  /** Texts in the report that the envelope has as members, too, by name with their description; null if missing. */
  members?: Readonly<Record<string, string>>;
}

/** For the types of the table: the tool has a section in the file endpoint, an endpoint of its own, an image. */
export type InFile<T> = T & { file: Section };
export type WithEndpoint<T> = T & { endpoint: Endpoint };
export type InImage<T> = T & { proof: Proof };

export interface Run {
  wallMs: number;
  /** Other tools run in the same container. */
  beside?: boolean;
  /** Of the source, for a tool that runs after ffprobe. */
  streams?: readonly QcStream[];
  /** It prints the pictures that its run before this one wrote. */
  printsPictures?: boolean;
}

/** A tool that runs as a program. */
export interface Program<Name extends string = string> {
  name: Name;
  /** Options that callers may set. */
  options: readonly OptionSpec[];
  /** Rejects incompatible options. Throws an OptionError. */
  agree?(options: Readonly<Record<string, string>>): void;
  /** Arguments after the command. The address is never the real one. Throws an OptionError. */
  args(options: Record<string, string>, address: string, run?: Run): string[];
  format(options: Record<string, string>): 'json' | 'text';
  /**
   * Reads a live stream directly, and speaks RTSP. Other tools get the beginning of a stream as a file, and no RTSP.
   */
  readsStreams?: boolean;
  /** Validates playlists, so it gets them unmodified. Others get them with addresses of the source proxy. */
  readsPlaylistsAsTheyAre?: boolean;
  /** Fetches files that any source refers to: they are read with the source's credentials. */
  followsParts?: boolean;
  /** Contents that it reads, and that are no film or sound. */
  reads?: readonly ContentKind[];
  /** False if the origin's certificate need not be valid. */
  verifiesTls(options: Record<string, string>): boolean;
  /** The tool's own error message, if its output is a failure. */
  failure(printed: Printed): string | undefined;
  /** What it prints on stderr of damaged media, although it completed its work. */
  damage?(stderr: string): string | undefined;
  /**
   * The objections to the source of a tool that completed its work: the result is a failure, and its output is kept.
   * Gets the beginning of the output.
   */
  verdict?(output: string): string | undefined;
  /** If callers choose the output format: its name by their options, and the media type of each. */
  formats?: { of(options: Readonly<Record<string, unknown>>): string; mediaType(format: string): string };
  file?: Section;
  endpoint?: Endpoint;
  /** Schema of its output, if it is JSON of a form that we know. */
  report?: TSchema;
  /** Default time-out, if not TOOL_TIMEOUT_MS. */
  timeoutMs?: number;
  /** Absent for a built-in program. */
  proof?: Proof;
}

/** A result that the agent derives from the output of programs. */
export interface Derived<Name extends string = string, From extends string = string> {
  name: Name;
  from: readonly From[];
  options: readonly OptionSpec[];
  file?: Section;
}

/** The last non-empty line. */
export function lastLine(text: string): string | undefined {
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .findLast((line) => line !== '');
}

/** For tools that decode: checks that the sample's stream was recognised as PCM. */
export const findsPcm = (said: string): string | undefined =>
  said.includes('pcm') ? undefined : 'it does not find the PCM stream of a WAV';
