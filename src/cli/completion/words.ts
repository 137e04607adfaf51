/** What a shell may complete, from the table of commands. */
import { outputOption } from '../args.ts';
import type { Command, Option, Program } from '../command.ts';

export const optionsOf = (program: Program, command: Command): Option[] =>
  command.verbatim ? [] : [...(command.options ?? []), ...outputOption(command), ...program.options];

export const wordsOf = ({ name, short }: Option): string[] => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];

/** Of the first argument. */
export const valuesOf = ({ positionals = [] }: Command): readonly string[] => positionals[0]?.values ?? [];
