/** Several sources: some at once, their answers in the order of the arguments. */
import type { Judged } from '../../media/ci_formats/judged.ts';
import { whole } from '../args.ts';
import { EXIT, Failure, reasonText, type ExitCode, type Reason } from '../exits.ts';
import type { Invocation } from '../command.ts';
import { memberOf, type GivenSource } from '../given_source.ts';
import { ciText, isForCi, writeReports, type Reports } from '../output/for_ci.ts';
import { paint } from '../output/text_table.ts';
import { writeAnswer, writeValue } from '../output/write_answer.ts';
import { oneLine, type Terminal } from '../terminal.ts';

const PARALLEL = 4;
const MOST_PARALLEL = 64;

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
  const parallel = invocation.value('parallel', whole(1, MOST_PARALLEL)) ?? PARALLEL;
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
  return outcomes;
}

/** What is wrong with a file weighs more than what could not be found out. */
const RANK: readonly ExitCode[] = [EXIT.failed, EXIT.usage, EXIT.unknown];
export const worst = (codes: readonly ExitCode[]): ExitCode => RANK.find((code) => codes.includes(code)) ?? EXIT.done;

/** A source that cannot be read breaks no rule: nothing is known of it. */
const unjudged = (code: ExitCode): ExitCode => (code === EXIT.failed ? EXIT.unknown : code);

export const unknownText = (terminal: Terminal, reason: Reason): string =>
  `${paint(terminal, 'yellow', 'unknown')} ${oneLine(reasonText(reason))}\n`;

/** How a command that judges files says what it found. */
interface Told<T> {
  /** For people, under the name of the source. */
  text: (value: T) => string;
  /** For programs, beside the name of the source. */
  value: (value: T) => object;
  /** In its place, of a source that cannot be read. */
  unknown: object;
  exit: (value: T) => ExitCode;
  /** The answer of a source that is the only one is for programs as it is. */
  alone?: (value: T) => Buffer;
  ci?: { reports: Reports; judged: (one: Outcome<T>) => Judged };
}

export async function tell<T>(
  invocation: Invocation,
  outcomes: readonly Outcome<T>[],
  { text, value, unknown, exit, alone, ci }: Told<T>,
): Promise<ExitCode> {
  const { format, terminal } = invocation;
  const textOf = (one: Outcome<T>): string =>
    `${paint(terminal, 'bold', one.source.shown)}\n` +
    ('failure' in one ? unknownText(terminal, one.failure.reason) : text(one.value));
  const valueOf = (one: Outcome<T>): object => ({
    ...memberOf(one.source),
    ...('failure' in one ? { ...unknown, ...one.failure.reason } : value(one.value)),
  });
  const judged = ci ? outcomes.map(ci.judged) : [];
  if (ci) await writeReports(ci.reports, judged);
  const [first, second] = outcomes;
  if (isForCi(format)) await terminal.data(await ciText(format, judged));
  else if (format === 'table') await terminal.data(outcomes.map(textOf).join('\n'));
  else if (alone && first && !second) {
    if ('failure' in first) throw first.failure;
    await writeAnswer(invocation, alone(first.value));
  } else await writeValue(invocation, outcomes.map(valueOf));
  return worst(outcomes.map((one) => ('failure' in one ? unjudged(one.failure.exitCode) : exit(one.value))));
}
