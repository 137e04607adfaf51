/** Which checks a policy asks for, beside the report and the tools that it is made from, and whether for pictures. */
import { isInPictures } from './fields.ts';
import type { Condition, Policy } from './types.ts';

const CHECKS = ['msv', 'c2pa'] as const;
export type Check = (typeof CHECKS)[number];

/** Whether it holds for a condition or one inside it. */
function isAnywhere(condition: Condition, holds: (one: Condition) => boolean): boolean {
  const { when, all = [], any = [], none = [] } = condition;
  return (
    holds(condition) || [...(when ? [when] : []), ...all, ...any, ...none].some((inner) => isAnywhere(inner, holds))
  );
}

const asks = ({ tool, findings, c2pa }: Condition, check: Check): boolean =>
  tool === check || (check === 'msv' ? findings : c2pa) !== undefined;

export const checksOf = ({ rules }: Policy): Check[] =>
  CHECKS.filter((check) => rules.some((rule) => isAnywhere(rule, (condition) => asks(condition, check))));

/** Whether it asks for what pictures alone say. */
export const asksForPictures = ({ rules }: Policy): boolean =>
  rules.some((rule) => isAnywhere(rule, ({ field }) => field !== undefined && isInPictures(field)));
