import type { Run } from '../command.ts';
import { EXIT } from '../failure.ts';
import { bash } from './bash.ts';
import { fish } from './fish.ts';
import { zsh } from './zsh.ts';

const SHELLS = { bash, zsh, fish };

const run: Run = async ({ positionals, program, terminal }) => {
  await terminal.data(SHELLS[positionals[0] as keyof typeof SHELLS](program));
  return EXIT.done;
};
export default run;
