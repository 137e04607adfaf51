/** Which checks a policy asks for, beside the report and the tools that it is made from. */
import type { Condition, Policy } from './types.ts';

const CHECKS = ['msv', 'c2pa'] as const;
export type Check = (typeof CHECKS)[number];

const asks = (condition: Condition, check: Check): boolean => {
  const { tool, findings, c2pa, when, all = [], any = [], none = [] } = condition;
  const subject = check === 'msv' ? findings : c2pa;
  if (subject !== undefined || tool === check) return true;
  return [...(when ? [when] : []), ...all, ...any, ...none].some((inner) => asks(inner, check));
};

export const checksOf = ({ rules }: Policy): Check[] =>
  CHECKS.filter((check) => rules.some((rule) => asks(rule, check)));
