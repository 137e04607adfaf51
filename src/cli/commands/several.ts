/** Several sources: some at once, their answers in the order of the arguments. */
import { wholeNumber } from '../args.ts';
import { EXIT, Failure, type ExitCode } from '../exits.ts';
import type { Given, Invocation } from '../command.ts';
import type { GivenSource } from '../given_source.ts';

const PARALLEL = 4;
const MOST_PARALLEL = 64;

function parallelOf({ text }: Given): number {
  const asked = text('parallel');
  return asked === undefined ? PARALLEL : wholeNumber('parallel', asked, 1, MOST_PARALLEL);
}

/** What became of one of them: a Failure does not end the others. */
export type Outcome<T> = { source: GivenSource; value: T } | { source: GivenSource; failure: Failure };

/** `done`: what the progress says of them, such as "checked". */
export async function inOrder<T>(
  invocation: Invocation,
  sources: readonly GivenSource[],
  done: string,
  work: (source: GivenSource) => Promise<T>,
): Promise<Outcome<T>[]> {
  const { terminal } = invocation;
  const parallel = parallelOf(invocation);
  const outcomes: Outcome<T>[] = [];
  let [next, ended] = [0, 0];
  async function worker(): Promise<void> {
    for (let place = next++; place < sources.length; place = next++) {
      const source = sources[place]!;
      try {
        outcomes[place] = { source, value: await work(source) };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        outcomes[place] = { source, failure: error };
      }
      ended++;
      if (sources.length > 1) terminal.progress(`${ended} of ${sources.length} ${done}`);
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, sources.length) }, worker));
  terminal.progress('');
  return outcomes;
}

/** What is wrong with a file weighs more than what could not be found out. */
const RANK: readonly ExitCode[] = [EXIT.failed, EXIT.usage, EXIT.unknown];
export const worst = (codes: readonly ExitCode[]): ExitCode => RANK.find((code) => codes.includes(code)) ?? EXIT.done;
