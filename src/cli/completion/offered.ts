/** What may follow the words of a command line that is being typed. */
import type { Program } from '../command.ts';
import { optionsOf, valuesOf, wordsOf } from './words.ts';

export interface Offer {
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
