/** The monthly quotas that a token's requests count against. Pure; migrations/0002_usage.sql enforces them. */
import type { MonthlyLimits, Quota } from './records.ts';

const KEYS = ['request-count', 'processing-time', 'data-processed'] as const;

function limitsOf(given: MonthlyLimits | null): MonthlyLimits | null {
  const limits: MonthlyLimits = {};
  for (const key of KEYS) if (typeof given?.[key] === 'number') limits[key] = given[key];
  return Object.keys(limits).length === 0 ? null : limits;
}

interface Given {
  id: number;
  monthlyQuota: MonthlyLimits | null;
}

/**
 * A user's quota covers that user and everyone below together. Each quota applies independently. `above`: root user
 * first.
 */
export function quotasOf({
  token,
  user,
  above,
}: {
  token: MonthlyLimits | null;
  user: Given;
  above: readonly Given[];
}): Quota[] {
  const [root = user, ...between] = [...above, user];
  const users = [
    ...between.toReversed().map(({ id, monthlyQuota }) => ({ scope: 'user' as const, user: id, limits: monthlyQuota })),
    { scope: 'account' as const, limits: root.monthlyQuota },
  ];
  return [{ scope: 'token' as const, limits: token }, ...users].flatMap(({ limits, ...quota }) => {
    const known = limitsOf(limits);
    return known ? [{ ...quota, limits: known }] : [];
  });
}
