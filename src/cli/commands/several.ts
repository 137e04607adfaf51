/** Several sources: some at once, their answers in the order of the arguments. */
import { wholeNumber } from '../args.ts';
import { EXIT, Failure, type ExitCode } from '../exits.ts';
import type { Given } from '../command.ts';
import type { GivenSource } from '../given_source.ts';

const PARALLEL = 4;
const MOST_PARALLEL = 64;

export function parallelOf({ text }: Given): number {
  const asked = text('parallel');
  return asked === undefined ? PARALLEL : wholeNumber('parallel', asked, 1, MOST_PARALLEL);
}

/** What became of one of them: a Failure does not end the others. */
export type Outcome<T> = { source: GivenSource; value: T } | { source: GivenSource; failure: Failure };

export async function inOrder<T>(
  sources: readonly GivenSource[],
  parallel: number,
  work: (source: GivenSource) => Promise<T>,
  onEach: (done: number) => void = () => {},
): Promise<Outcome<T>[]> {
  const outcomes: Outcome<T>[] = [];
  let [next, done] = [0, 0];
  async function worker(): Promise<void> {
    for (let place = next++; place < sources.length; place = next++) {
      const source = sources[place]!;
      try {
        outcomes[place] = { source, value: await work(source) };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        outcomes[place] = { source, failure: error };
      }
      onEach(++done);
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, sources.length) }, worker));
  return outcomes;
}

/** What is wrong with a file weighs more than what could not be found out. */
const RANK: readonly ExitCode[] = [EXIT.failed, EXIT.usage, EXIT.unknown];
export const worst = (codes: readonly ExitCode[]): ExitCode => RANK.find((code) => codes.includes(code)) ?? EXIT.done;
