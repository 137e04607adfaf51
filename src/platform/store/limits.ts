/**
 * The effective limits, permissions and quotas of a token, from its own, its user's and those of the accounts above.
 * Pure; migrations/0002_usage.sql enforces the quotas.
 */
import { asObject, column, type RecordOf } from './columns.ts';
import type { DefaultLimits, Limits } from '../../base/limits.ts';
import type { TokenRecord, MonthlyLimits, Quota } from './records.ts';

const BOUNDS = {
  requestsPerMinute: column<number | null>(),
  concurrency: column<number | null>(),
  queueTimeoutMs: column<number | null>(),
  fileBytes: column<number | null>(),
};
export const LIMIT_COLUMNS = {
  ...BOUNDS,
  /** What a request that says nothing asks of the cache. 0: nothing, whatever the account above has. */
  cacheMaxAgeS: column<number | null>(),
};
export type GivenLimits = RecordOf<typeof LIMIT_COLUMNS>;

export const NO_GIVEN_LIMITS: GivenLimits = {
  requestsPerMinute: null,
  concurrency: null,
  queueTimeoutMs: null,
  fileBytes: null,
  cacheMaxAgeS: null,
};

/**
 * Limits of a user. `accountConcurrency`: 0 means unlimited, null the installation's default. It applies to the whole
 * account, so only the root user's value counts.
 */
export const ACCOUNT_COLUMNS = { ...LIMIT_COLUMNS, accountConcurrency: column<number | null>() };
export type GivenToAccount = RecordOf<typeof ACCOUNT_COLUMNS>;

/** What a whole account may do, as a multiple of what its root user's tokens may: more tokens do not add to it. */
const TIMES_TOKEN = 4;

const KEYS = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];

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
 * only lower it. The age of cached results is no bound: the nearest that is set holds. `above`: root user first.
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
    cacheMaxAgeS: [token, user, ...above.toReversed()].find(({ cacheMaxAgeS: age }) => age !== null)?.cacheMaxAgeS ?? 0,
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

/** An account above a user: its limits and permissions bound every user below. */
const ABOVE = {
  id: column<number>(),
  suspended: column<boolean>(`a.status = 'suspended'`),
  /** Permissions of this account, minus its restrictions. */
  permissions: column<string[]>('array(select p from unnest(a.permissions) p where p <> all(a.restrictions))'),
  ...ACCOUNT_COLUMNS,
  monthlyQuota: column<MonthlyLimits | null>(),
};

/** The user of a credential, for a query on `users u`. */
export const HOLDER = {
  role: column<TokenRecord['role']>(),
  status: column<TokenRecord['userStatus']>(),
  permissions: column<string[]>(),
  restrictions: column<string[]>(),
  /**
   * `parent_ids` is the chain, maintained by a trigger (0001_accounts.sql), so this is one read by key per ancestor
   * without recursion: 0.1 ms for three of them, once per token look-up (cached).
   */
  above: column<RecordOf<typeof ABOVE>[]>(`(
    select coalesce(jsonb_agg(${asObject(ABOVE, 'a')} order by cardinality(a.parent_ids)), '[]')
    from users a where a.id = any(u.parent_ids || u.root_id) and a.id <> u.id)`),
};
export interface HolderRow extends RecordOf<typeof HOLDER> {
  userId: number;
  /** Of the credential; null: all of the user's. */
  ownPermissions: string[] | null;
}

/** Whom a credential stands for, and what it may do. */
export type Holder = Pick<TokenRecord, 'userId' | 'rootUserId' | 'role' | 'userStatus' | 'permissions'>;

export const holderOf = (row: HolderRow): Holder => ({
  userId: row.userId,
  rootUserId: row.above[0]?.id ?? row.userId,
  role: row.role,
  userStatus: effectiveStatus(row.status, row.above),
  permissions: effectivePermissions(
    row.ownPermissions,
    row.permissions,
    row.restrictions,
    row.above.map(({ permissions }) => permissions),
  ),
});

const QUOTAS = [
  'request-count',
  'processing-time',
  'data-processed',
  'decoded-seconds',
] as const satisfies readonly (keyof MonthlyLimits)[];

function limitsOf(given: MonthlyLimits | null): MonthlyLimits | null {
  const limits: MonthlyLimits = {};
  for (const key of QUOTAS) if (typeof given?.[key] === 'number') limits[key] = given[key];
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
