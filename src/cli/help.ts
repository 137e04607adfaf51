/** Help from the table of commands: what it does, how it is called, and examples to start from. */
import { outputOption } from './args.ts';
import type { Command, Option, Positional, Program } from './command.ts';

const WIDTH = 100;

function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length > indent.length && line.length + word.length > WIDTH) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}

const shownPositional = ({ name, optional, many }: Positional): string => {
  const text = many ? `${name}...` : name;
  return optional ? `[${text}]` : text;
};

export function synopsis(program: Program, { name, positionals = [], verbatim }: Command): string {
  const parts = verbatim ? ['ARGUMENTS...'] : ['[OPTIONS]', ...positionals.map(shownPositional)];
  return [program.name, name, ...parts].join(' ');
}

export const shownOption = ({ name, short, value }: Option): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;

function table(rows: readonly (readonly [string, string])[]): string {
  const column = Math.min(28, Math.max(0, ...rows.map(([left]) => left.length)) + 2);
  return rows
    .map(([left, right]) => {
      const text = wrapped(right, ' '.repeat(column + 2)).trimStart();
      const head = `  ${left}`;
      return left.length + 2 > column ? `${head}\n${' '.repeat(column + 2)}${text}` : head.padEnd(column + 2) + text;
    })
    .join('\n');
}

const optionRows = (options: readonly Option[]): [string, string][] =>
  options.map((option) => [shownOption(option), option.help]);

export function programHelp(program: Program): string {
  return [
    wrapped(program.summary, ''),
    `Usage: ${program.name} COMMAND`,
    `Commands:\n${table(program.commands.map(({ name, summary }) => [name, summary]))}`,
    `Options of every command:\n${table(optionRows(program.options))}`,
    ...program.notes.map((note) => wrapped(note, '')),
    `${program.name} COMMAND --help shows examples.\n`,
  ].join('\n\n');
}

export function commandHelp(program: Program, command: Command): string {
  const { summary, description = [], positionals = [], options = [], examples, verbatim } = command;
  const own = [...options, ...outputOption(command)];
  return [
    wrapped(`${summary}.`, ''),
    ...description.map((paragraph) => wrapped(paragraph, '')),
    `Usage: ${synopsis(program, command)}`,
    `Examples:\n${Object.entries(examples)
      .map(([does, line]) => `  # ${does}\n  ${line}`)
      .join('\n')}`,
    ...(positionals.length > 0
      ? [`Arguments:\n${table(positionals.map((one) => [shownPositional(one), one.help] as const))}`]
      : []),
    ...(own.length > 0 ? [`Options:\n${table(optionRows(own))}`] : []),
    ...(verbatim ? [] : [`Options of every command:\n${table(optionRows(program.options))}`]),
  ]
    .join('\n\n')
    .concat('\n');
}
