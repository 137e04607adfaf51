import type { Program } from '../command.ts';
import { optionsOf, valuesOf } from './words.ts';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;

export function fish(program: Program): string {
  const lines = program.commands.flatMap((command) => {
    const after = `-n '__fish_seen_subcommand_from ${command.name}'`;
    const values = valuesOf(command);
    return [
      `complete -c probeyard -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.summary)}`,
      ...(values.length > 0 ? [`complete -c probeyard ${after} -f -a ${quoted(values.join(' '))}`] : []),
      ...optionsOf(program, command).map(({ name, short, value, values: accepted, help }) =>
        [
          `complete -c probeyard ${after}`,
          name === 'policy' ? '' : '-f',
          `-l ${name}`,
          short === undefined ? '' : `-s ${short}`,
          value === undefined ? '' : '-r',
          accepted ? `-a ${quoted(accepted.join(' '))}` : '',
          `-d ${quoted(help)}`,
        ]
          .filter((part) => part !== '')
          .join(' '),
      ),
    ];
  });
  return `# Completion of probeyard for fish. Made by: probeyard completion fish\n${lines.join('\n')}\n`;
}
