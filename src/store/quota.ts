/** Which monthly quotas a token's requests count against. Pure; how they are held is in migrations/0032_quota.sql. */
import type { MonthlyLimits, Quota } from './records.ts';

const KEYS = ['request-count', 'processing-time', 'data-processed'] as const;

function limitsOf(given: MonthlyLimits | null): MonthlyLimits | null {
  const limits: MonthlyLimits = {};
  for (const key of KEYS) if (typeof given?.[key] === 'number') limits[key] = given[key];
  return Object.keys(limits).length === 0 ? null : limits;
}

/** What a root user was given is for him and all under him together; a sub-user's own bounds him beside it, a token's own the token. */
export function quotasOf({ token, user, root, isRoot }: { token: MonthlyLimits | null; user: MonthlyLimits | null; root: MonthlyLimits | null; isRoot: boolean }): Quota[] {
  const given: [Quota['scope'], MonthlyLimits | null][] = [['token', token], ['user', isRoot ? null : user], ['account', root]];
  return given.flatMap(([scope, limits]) => {
    const known = limitsOf(limits);
    return known ? [{ scope, limits: known }] : [];
  });
}
