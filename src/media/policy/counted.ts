/** Things that are counted by their code or path: warnings, findings, disagreements. */
import { PolicyError } from './error.ts';
import type { Glob } from './glob.ts';
import { NUMBER } from './kinds.ts';
import { within } from './node.ts';
import { globs, judge, only, testsOf, type Subject, type Tests } from './operators.ts';
import type { Run } from './run.ts';

const NUMBERS = ['is', 'at-least', 'at-most', 'between'] as const;

export interface Counting {
  tests: Tests;
  /** Whether `of` or `except` choose among what is counted. */
  chooses: boolean;
  counts(name: string, run: Run): boolean;
}

const COUNTS: Subject = {
  kind: NUMBER,
  refer: (_operand, at) => {
    throw new PolicyError(at, 'must be a number');
  },
  within: undefined,
  frame: () => 0,
};

/** A number alone is the most that may be found; without one, nothing may. */
export function countingOf(value: unknown, at: string): Counting {
  if (typeof value === 'number') return countingOf({ 'at-most': value }, at);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PolicyError(at, 'must be a number, or {of, except, is, at-least, at-most, between}');
  only(value, ['of', 'except', ...NUMBERS], at);
  const members = value as Record<string, unknown>;
  const given = NUMBERS.filter((name) => Object.hasOwn(members, name));
  const tests = testsOf(COUNTS, given.length === 0 ? { 'at-most': 0 } : onlyOf(members, given), at);
  const of = members['of'] === undefined ? undefined : globs(members['of'], true, within(at, 'of'));
  const except = members['except'] === undefined ? undefined : globs(members['except'], true, within(at, 'except'));
  const fits = (list: readonly Glob[], name: string, run: Run) =>
    list.some((glob) => run.meter.step(glob.cost(name)) && glob.matches(name));
  return {
    tests,
    chooses: of !== undefined || except !== undefined,
    counts: (name, run) =>
      (of === undefined || fits(of, name, run)) && !(except !== undefined && fits(except, name, run)),
  };
}

const onlyOf = (members: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, members[name]]));

/** `more`: how many there may be that were not told one by one. Undefined where they would decide. */
export function countHolds({ tests }: Counting, count: number, more: number, run: Run): boolean | undefined {
  const { site } = run;
  const low = judge(tests, count, site);
  return more === 0 || judge(tests, count + more, site) === low ? low : undefined;
}
