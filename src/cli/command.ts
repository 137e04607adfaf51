/** What a command is: help, completion, the reference in docs and the parser read the same table. */
import type { Api } from './api/api_client.ts';
import type { ExitCode } from './exits.ts';
import type { Terminal } from './terminal.ts';

export type Format =
  'table' | 'json' | 'yaml' | 'html' | 'raw' | 'junit' | 'sarif' | 'github' | 'csv' | 'ndjson' | 'parquet';

export interface Option {
  name: string;
  short?: string;
  /** How its value is called in help; absent: the option takes none. */
  value?: string;
  /** The only values that are accepted. */
  values?: readonly string[];
  /** It may be repeated. */
  many?: boolean;
  /** It may be a file of this machine. */
  isFile?: boolean;
  help: string;
}

/** What is one of these values; its help names them. */
export const oneOf = (values: readonly string[], before = '') => ({
  values,
  help: `${before}${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
});

export interface Positional {
  name: string;
  help: string;
  values?: readonly string[];
  /** It may be a file of this machine. */
  isFile?: boolean;
  optional?: boolean;
  many?: boolean;
}

/** What a command does with the things that it is about. */
export const action = (byDefault: string, ...others: string[]): Positional => ({
  name: 'ACTION',
  values: [byDefault, ...others],
  help: oneOf([`${byDefault} (default)`, ...others]).help,
  optional: true,
});

export type Run = (invocation: Invocation) => Promise<ExitCode>;

export interface Command {
  name: string;
  summary: string;
  /** Paragraphs. */
  description?: readonly string[];
  positionals?: readonly Positional[];
  options?: readonly Option[];
  /** The first is the default. Absent: there is nothing to choose. */
  formats?: readonly Format[];
  /** A line by what it does. */
  examples: Readonly<Record<string, string>>;
  /** Takes all arguments after its name as they are. */
  verbatim?: boolean;
  run: () => Promise<Run>;
}

/** A program: `probeyard`, or the plugin of kubectl. */
export interface Program {
  name: string;
  summary: string;
  commands: readonly Command[];
  /** Options of every command. */
  options: readonly Option[];
  notes: readonly string[];
}

/** Arguments of a command, checked against its table. */
export interface Given {
  positionals: readonly string[];
  has(option: string): boolean;
  text(option: string): string | undefined;
  texts(option: string): readonly string[];
  /** What `read` makes of its text. */
  value<T>(option: string, read: (option: string, text: string) => T): T | undefined;
}

export interface Invocation extends Given {
  format: Format;
  env: NodeJS.ProcessEnv;
  terminal: Terminal;
  program: Program;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** The API with the caller's address and token. Throws a Failure where one is missing. */
  api(): Promise<Api>;
}
