/** What a token may, from what it, its user and his root user were given. */
import type { Limits, TokenRecord } from './records.ts';

export interface GivenLimits { requestsPerMinute: number | null; concurrency: number | null; queueTimeoutMs: number | null; fileBytes: number | null }

export const NO_GIVEN_LIMITS: GivenLimits = { requestsPerMinute: null, concurrency: null, queueTimeoutMs: null, fileBytes: null };

const KEYS = ['requestsPerMinute', 'concurrency', 'queueTimeoutMs', 'fileBytes'] as const;

/** A user has what he was given, else what his root user was, else the default; his token may only narrow that. */
export function effectiveLimits(token: GivenLimits, user: GivenLimits, root: GivenLimits, defaults: Limits): Limits {
  const limits = { ...defaults };
  for (const key of KEYS) {
    const base = user[key] ?? root[key] ?? defaults[key];
    limits[key] = Math.min(token[key] ?? base, base);
  }
  return limits;
}

/** A sub-user never may what his root user may not. */
export function effectivePermissions(token: string[] | null, user: string[], restrictions: string[], root: string[] | null = null): string[] {
  return user.filter((name) => !restrictions.includes(name) && (token === null || token.includes(name)) && (root === null || root.includes(name)));
}

/** Who is suspended takes his sub-users with him. */
export function effectiveStatus(user: TokenRecord['userStatus'], aboveSuspended: boolean): TokenRecord['userStatus'] {
  return aboveSuspended ? 'suspended' : user;
}
