import type { Option, Program } from '../command.ts';
import { optionsOf, valuesOf, wordsOf } from './words.ts';

const offered = ({ name, values }: Option): string =>
  values ? `$(compgen -W '${values.join(' ')}' -- "$cur")` : name === 'policy' ? '$(compgen -f -- "$cur")' : '';

/** Words consist of letters, digits and dashes: nothing has to be quoted. */
export function bash(program: Program): string {
  const names = program.commands.map(({ name }) => name).join(' ');
  const cases = program.commands.map((command) => {
    const options = optionsOf(program, command);
    const values = options
      .filter(({ value }) => value !== undefined)
      .map((option) => `      ${wordsOf(option).join('|')}) COMPREPLY=(${offered(option)}); return ;;`);
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
