/** What a shell may complete, from the table of commands: the words of a line, and what may follow them. */
import type { Option, Program, Run, Command } from './command.ts';
import { optionsOf } from './args.ts';
import { EXIT } from './exits.ts';

const wordsOf = ({ name, short }: Option): string[] => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];

/** Of the first argument. */
const valuesOf = ({ positionals = [] }: Command): readonly string[] => positionals[0]?.values ?? [];

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

const offeredInBash = ({ name, values }: Option): string =>
  values ? `$(compgen -W '${values.join(' ')}' -- "$cur")` : name === 'policy' ? '$(compgen -f -- "$cur")' : '';

/** Words consist of letters, digits and dashes: nothing has to be quoted. */
export function bash(program: Program): string {
  const names = program.commands.map(({ name }) => name).join(' ');
  const cases = program.commands.map((command) => {
    const options = optionsOf(program, command);
    const values = options
      .filter(({ value }) => value !== undefined)
      .map((option) => `      ${wordsOf(option).join('|')}) COMPREPLY=(${offeredInBash(option)}); return ;;`);
    const words = options.flatMap(wordsOf).join(' ');
    return [
      `    ${command.name})`,
      ...(values.length > 0 ? ['      case $prev in', ...values.map((line) => `  ${line}`), '      esac'] : []),
      `      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '${words}' -- "$cur"))`,
      `      else COMPREPLY=($(compgen -W '${valuesOf(command).join(' ')}' -- "$cur")); fi ;;`,
    ].join('\n');
  });
  return `# Completion of probeyard for bash. Made by: probeyard completion bash
_probeyard() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W '${names} --help --version' -- "$cur"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
}
complete -o default -F _probeyard probeyard
`;
}

const quotedForZsh = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const described = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`);

/** What may stand behind an option. */
const actionOf = ({ name, values }: Option): string =>
  values ? `(${values.join(' ')})` : name === 'policy' ? '_files' : ' ';

function argument(option: Option): string[] {
  const action = option.value === undefined ? '' : `:${option.value.toLowerCase()}:${actionOf(option)}`;
  return wordsOf(option).map((word) =>
    quotedForZsh(`${option.many ? '*' : ''}${word}[${described(option.help)}]${action}`),
  );
}

export function zsh(program: Program): string {
  const names = program.commands.map(({ name, summary }) => `    ${quotedForZsh(`${name}:${described(summary)}`)}`);
  const cases = program.commands.map((command) => {
    const values = valuesOf(command);
    const specs = [
      ...optionsOf(program, command).flatMap(argument),
      ...(values.length > 0 ? [quotedForZsh(`1:value:(${values.join(' ')})`)] : []),
      ...(command.positionals?.some(({ isFile }) => isFile) ? [quotedForZsh('*:source:_files')] : []),
    ];
    return specs.length === 0
      ? `    ${command.name}) ;;`
      : `    ${command.name})\n      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(' \\\n')} ;;`;
  });
  return `#compdef probeyard
# Completion of probeyard for zsh. Made by: probeyard completion zsh
_probeyard() {
  local -a commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _probeyard ]]; then _probeyard "$@"; else compdef _probeyard probeyard; fi
`;
}

const quotedForFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;

export function fish(program: Program): string {
  const lines = program.commands.flatMap((command) => {
    const after = `-n '__fish_seen_subcommand_from ${command.name}'`;
    const values = valuesOf(command);
    return [
      `complete -c probeyard -n __fish_use_subcommand -f -a ${command.name} -d ${quotedForFish(command.summary)}`,
      ...(values.length > 0 ? [`complete -c probeyard ${after} -f -a ${quotedForFish(values.join(' '))}`] : []),
      ...optionsOf(program, command).map(({ name, short, value, values: accepted, help }) =>
        [
          `complete -c probeyard ${after}`,
          name === 'policy' ? '' : '-f',
          `-l ${name}`,
          short === undefined ? '' : `-s ${short}`,
          value === undefined ? '' : '-r',
          accepted ? `-a ${quotedForFish(accepted.join(' '))}` : '',
          `-d ${quotedForFish(help)}`,
        ]
          .filter((part) => part !== '')
          .join(' '),
      ),
    ];
  });
  return `# Completion of probeyard for fish. Made by: probeyard completion fish\n${lines.join('\n')}\n`;
}

const SHELLS = { bash, zsh, fish };

const run: Run = async ({ positionals, program, terminal }) => {
  await terminal.data(SHELLS[positionals[0] as keyof typeof SHELLS](program));
  return EXIT.done;
};
export default run;
