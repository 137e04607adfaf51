import type { Option, Program } from '../command.ts';
import { optionsOf, valuesOf, wordsOf } from './words.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const described = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`);

/** What may stand behind an option. */
const actionOf = ({ name, values }: Option): string =>
  values ? `(${values.join(' ')})` : name === 'policy' ? '_files' : ' ';

function argument(option: Option): string[] {
  const action = option.value === undefined ? '' : `:${option.value.toLowerCase()}:${actionOf(option)}`;
  return wordsOf(option).map((word) => quoted(`${option.many ? '*' : ''}${word}[${described(option.help)}]${action}`));
}

export function zsh(program: Program): string {
  const names = program.commands.map(({ name, summary }) => `    ${quoted(`${name}:${described(summary)}`)}`);
  const cases = program.commands.map((command) => {
    const values = valuesOf(command);
    const specs = [
      ...optionsOf(program, command).flatMap(argument),
      ...(values.length > 0 ? [quoted(`1:value:(${values.join(' ')})`)] : []),
      ...(command.positionals?.some(({ isFile }) => isFile) ? [quoted('*:source:_files')] : []),
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
