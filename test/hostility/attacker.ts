/** The attacker's program, built from C, and the plan that it reads as its source. */
import { run } from '../node/command.ts';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, 'attacker', 'attacker.c');

export const buildAttacker = (program: string, version: string): Promise<string> =>
  run('cc', ['-static', '-O1', '-pthread', `-DVERSION="${version}"`, '-o', program, SOURCE]);

/** `do` is read by attacker.c as `what|argument|number`. */
export interface Attempt {
  name: string;
  do: string;
  expect: RegExp;
}

export const planOf = (attempts: readonly Pick<Attempt, 'name' | 'do'>[]): string =>
  attempts.map((one) => `${one.name}|${one.do}\n`).join('');
