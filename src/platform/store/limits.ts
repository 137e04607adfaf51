/** The effective limits and permissions of a token, from its own, its user's and those of the accounts above. */
import type { Columns } from './columns.ts';
import type { DefaultLimits, Limits } from '../../base/limits.ts';
import type { TokenRecord } from './records.ts';

export interface GivenLimits {
  requestsPerMinute: number | null;
  concurrency: number | null;
  queueTimeoutMs: number | null;
  fileBytes: number | null;
}

export const LIMIT_COLUMNS: Columns<GivenLimits> = {
  requestsPerMinute: 'requests_per_minute',
  concurrency: 'concurrency',
  queueTimeoutMs: 'queue_timeout_ms',
  fileBytes: 'file_bytes',
};

export const NO_GIVEN_LIMITS: GivenLimits = {
  requestsPerMinute: null,
  concurrency: null,
  queueTimeoutMs: null,
  fileBytes: null,
};

/**
 * Limits of a user. `accountConcurrency`: 0 means unlimited, null the installation's default. It applies to the whole
 * account, so only the root user's value counts.
 */
export interface GivenToAccount extends GivenLimits {
  accountConcurrency: number | null;
}

export const ACCOUNT_COLUMNS: Columns<GivenToAccount> = {
  ...LIMIT_COLUMNS,
  accountConcurrency: 'account_concurrency',
};

/** What a whole account may do, as a multiple of what its root user's tokens may: more tokens do not add to it. */
const TIMES_TOKEN = 4;

const KEYS = Object.keys(LIMIT_COLUMNS) as (keyof GivenLimits)[];

/** The concurrency of an account over all its tokens; null: unlimited. */
function accountConcurrency(
  root: Pick<GivenToAccount, 'concurrency' | 'accountConcurrency'>,
  defaults: DefaultLimits,
): number | null {
  const limit =
    root.accountConcurrency ?? defaults.accountConcurrency ?? TIMES_TOKEN * (root.concurrency ?? defaults.concurrency);
  return limit === 0 ? null : limit;
}

/**
 * A user has the minimum of its own limits and those of the accounts above, or the default if none is set. A token can
 * only lower it. `above`: root user first.
 */
export function effectiveLimits(
  token: GivenLimits,
  user: GivenToAccount,
  above: readonly GivenToAccount[],
  defaults: DefaultLimits,
): Limits {
  const root = above[0] ?? user;
  const limits: Limits = {
    ...defaults,
    accountConcurrency: accountConcurrency(root, defaults),
    accountRequestsPerMinute: TIMES_TOKEN * (root.requestsPerMinute ?? defaults.requestsPerMinute),
  };
  for (const key of KEYS) {
    const given = [user, ...above].flatMap((one) => one[key] ?? []);
    const base = given.length === 0 ? defaults[key] : Math.min(...given);
    limits[key] = Math.min(token[key] ?? base, base);
  }
  limits.concurrency = Math.min(limits.concurrency, limits.accountConcurrency ?? limits.concurrency);
  return limits;
}

/** A sub-user never has a permission that an account above lacks. */
export function effectivePermissions(
  token: string[] | null,
  user: string[],
  restrictions: string[],
  above: readonly string[][] = [],
): string[] {
  return user.filter(
    (name) =>
      !restrictions.includes(name) &&
      (token === null || token.includes(name)) &&
      above.every((may) => may.includes(name)),
  );
}

/** Suspending an account suspends its sub-users. */
export function effectiveStatus(
  user: TokenRecord['userStatus'],
  above: readonly { suspended: boolean }[],
): TokenRecord['userStatus'] {
  return above.some(({ suspended }) => suspended) ? 'suspended' : user;
}
