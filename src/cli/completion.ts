/** What a shell may complete, from the table of commands. Each shell asks the program itself, as kubectl its plugin. */
import { optionsOf } from './args.ts';
import type { Option, Program, Run } from './command.ts';
import { EXIT } from './exits.ts';

const wordsOf = ({ name, short }: Option): string[] => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];

interface Offer {
  word: string;
  help: string;
}

const plain = (words: readonly string[]): Offer[] => words.map((word) => ({ word, help: '' }));

interface Offered {
  offers: Offer[];
  /** Where there are none, a file of this machine may stand there. */
  isFile: boolean;
}

/** What may follow the words after the program's name; the last one is not finished. */
export function offered(program: Program, words: readonly string[]): Offered {
  const last = words.at(-1) ?? '';
  const fitting = (offers: readonly Offer[], isFile = false): Offered => ({
    offers: offers.filter(({ word }) => word.startsWith(last)),
    isFile,
  });
  if (words.length <= 1)
    return fitting(
      last.startsWith('-')
        ? plain(['--help', '--version'])
        : program.commands.map(({ name, summary }) => ({ word: name, help: summary })),
    );
  const command = program.commands.find(({ name }) => name === words[0]);
  if (!command) return fitting([]);
  // Its arguments are those of a tool, which reads files.
  if (command.verbatim) return fitting([], true);
  const options = optionsOf(program, command);
  const withValue = (word: string): Option | undefined =>
    options.find((option) => option.value !== undefined && wordsOf(option).includes(word));
  const before = withValue(words.at(-2)!);
  if (before) return fitting(plain(before.values ?? []), before.isFile);
  if (last.startsWith('-'))
    return fitting(options.flatMap((option) => wordsOf(option).map((word) => ({ word, help: option.help }))));
  const place = words.slice(1, -1).filter((word, at) => !word.startsWith('-') && !withValue(words[at]!)).length;
  const { positionals = [] } = command;
  const positional = positionals[place] ?? positionals.at(-1);
  return fitting(plain(positional?.values ?? []), positional?.isFile);
}

/** As kubectl reads it: a line for each, and a directive of cobra, 4 for no files. */
export function completions(program: Program, words: readonly string[]): string {
  const { offers, isFile } = offered(program, words);
  const lines = offers.map(({ word, help }) => (help === '' ? word : `${word}\t${help}`));
  return [...lines, isFile ? ':0' : ':4', ''].join('\n');
}

/** The first argument, before the words of a line: what follows is asked for. */
export const ASKS = '__complete';

const bash = `# Completion of probeyard for bash. Made by: probeyard completion bash
_probeyard() {
  local IFS=$'\\n'
  COMPREPLY=($(probeyard ${ASKS} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | grep -v '^:' | cut -f 1))
}
complete -o default -F _probeyard probeyard
`;

const zsh = `#compdef probeyard
# Completion of probeyard for zsh. Made by: probeyard completion zsh
_probeyard() {
  local -a lines offers
  lines=("\${(@f)$(probeyard ${ASKS} "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  offers=("\${(@)\${(@)lines[1,-2]}/$'\\t'/:}")
  if (( $#lines > 1 )); then _describe probeyard offers
  elif [[ $lines[1] == :0 ]]; then _files
  fi
}
if [[ $funcstack[1] == _probeyard ]]; then _probeyard "$@"; else compdef _probeyard probeyard; fi
`;

const fish = `# Completion of probeyard for fish. Made by: probeyard completion fish
function __probeyard_offers
  set -l words (commandline -opc) (commandline -ct)
  set -l lines (probeyard ${ASKS} $words[2..-1] 2> /dev/null)
  if test (count $lines) -gt 1
    printf '%s\\n' $lines[1..-2]
  else if test "$lines" = ':0'
    __fish_complete_path (commandline -ct)
  end
end
complete -c probeyard -f -a '(__probeyard_offers)'
`;

export const SCRIPTS: Readonly<Record<string, string>> = { bash, zsh, fish };

const run: Run = async ({ positionals, terminal }) => {
  await terminal.data(SCRIPTS[positionals[0]!]!);
  return EXIT.done;
};
export default run;
