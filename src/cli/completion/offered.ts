/** What a shell may complete, from the table of commands: the words of a line, and what may follow them. */
import { optionsOf } from '../args.ts';
import type { Command, Option, Program } from '../command.ts';

export const wordsOf = ({ name, short }: Option): string[] => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];

/** Of the first argument. */
export const valuesOf = ({ positionals = [] }: Command): readonly string[] => positionals[0]?.values ?? [];

// What may follow the words of a command line that is being typed.

interface Offer {
  word: string;
  help: string;
}

/** `words`: those after the program's name; the last one is not finished. */
export function offered(program: Program, words: readonly string[]): Offer[] {
  const last = words.at(-1) ?? '';
  const fitting = (offers: readonly Offer[]): Offer[] => offers.filter(({ word }) => word.startsWith(last));
  if (words.length <= 1) return fitting(program.commands.map(({ name, summary }) => ({ word: name, help: summary })));
  const command = program.commands.find(({ name }) => name === words[0]);
  if (!command) return [];
  const options = optionsOf(program, command);
  const before = options.find((option) => wordsOf(option).includes(words.at(-2)!));
  if (before?.value !== undefined) return fitting((before.values ?? []).map((word) => ({ word, help: '' })));
  if (last.startsWith('-'))
    return fitting(options.flatMap((option) => wordsOf(option).map((word) => ({ word, help: option.help }))));
  return fitting(valuesOf(command).map((word) => ({ word, help: '' })));
}

const NO_FILES = 4;

/** As kubectl reads it: the lines and the directive of cobra. */
export const completeForKubectl = (program: Program, words: readonly string[]): string =>
  [
    ...offered(program, words).map(({ word, help }) => (help === '' ? word : `${word}\t${help}`)),
    `:${NO_FILES}`,
    '',
  ].join('\n');
