/** What a token may, from what it, its user and the accounts above were given. */
import type { Limits, TokenRecord } from './records.ts';

export interface GivenLimits { requestsPerMinute: number | null; concurrency: number | null; queueTimeoutMs: number | null; fileBytes: number | null }

export const NO_GIVEN_LIMITS: GivenLimits = { requestsPerMinute: null, concurrency: null, queueTimeoutMs: null, fileBytes: null };

const KEYS = ['requestsPerMinute', 'concurrency', 'queueTimeoutMs', 'fileBytes'] as const;

/** A user has the least that they and the accounts above were given, else the default; their token may only narrow that. */
export function effectiveLimits(token: GivenLimits, user: GivenLimits, above: readonly GivenLimits[], defaults: Limits): Limits {
  const limits = { ...defaults };
  for (const key of KEYS) {
    const given = [user, ...above].flatMap((one) => one[key] ?? []);
    const base = given.length === 0 ? defaults[key] : Math.min(...given);
    limits[key] = Math.min(token[key] ?? base, base);
  }
  return limits;
}

/** A sub-user never has a permission that an account above lacks. */
export function effectivePermissions(token: string[] | null, user: string[], restrictions: string[], above: readonly string[][] = []): string[] {
  return user.filter((name) => !restrictions.includes(name) && (token === null || token.includes(name)) && above.every((may) => may.includes(name)));
}

/** A suspended account takes its sub-users with it. */
export function effectiveStatus(user: TokenRecord['userStatus'], above: readonly { suspended: boolean }[]): TokenRecord['userStatus'] {
  return above.some(({ suspended }) => suspended) ? 'suspended' : user;
}
