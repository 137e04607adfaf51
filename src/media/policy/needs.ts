/** Which checks a policy asks for, beside the report and the tools that it is made from, and whether for pictures. */
import { isInPictures } from './fields.ts';
import { within } from './node.ts';
import type { Condition, Policy } from './schema.ts';
import { firstNameOf } from './subject_raw.ts';

const CHECKS = ['msv', 'c2pa', 'qc'] as const;
export type Check = (typeof CHECKS)[number];

/** Each condition of a policy that compiles, with its place. */
export function* conditionsOf({ rules }: Policy): Generator<[Condition, string]> {
  for (const [index, rule] of rules.entries()) yield* conditionsIn(rule, within('rules', index));
}

function* conditionsIn(condition: Condition, at: string): Generator<[Condition, string]> {
  yield [condition, at];
  if (condition.when) yield* conditionsIn(condition.when, within(at, 'when'));
  for (const word of ['all', 'any', 'none'] as const)
    for (const [index, member] of (condition[word] ?? []).entries())
      yield* conditionsIn(member, within(within(at, word), index));
}

const asks = ({ tool, findings, c2pa }: Condition, check: Check): boolean =>
  tool === check || { msv: findings, c2pa, qc: undefined }[check] !== undefined;

export const checksOf = (policy: Policy): Check[] =>
  CHECKS.filter((check) => [...conditionsOf(policy)].some(([condition]) => asks(condition, check)));

/** Whether it asks for what pictures alone say. */
export const asksForPictures = (policy: Policy): boolean =>
  [...conditionsOf(policy)].some(([{ field }]) => field !== undefined && isInPictures(field));

/** Whether it asks content checks for damage, which they look for only where they are told to. */
export const asksForIntegrity = (policy: Policy): boolean =>
  [...conditionsOf(policy)].some(
    ([{ tool, path }]) => tool === 'qc' && ['integrity', 'file'].includes(firstNameOf(path ?? '') ?? ''),
  );
