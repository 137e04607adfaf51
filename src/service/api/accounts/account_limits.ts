/** Limits in requests and responses. Null: no limit of its own; that of the account above applies. */
import Type, { type Static, type TObject } from 'typebox';
import { NO_GIVEN_LIMITS, type GivenLimits } from '../../../platform/store/limits.ts';
import { type Limits, MAX_QUEUE_MS, MOST_CACHE_AGE_S } from '../../../base/limits.ts';
import type { AccountFull, UserLimits } from '../../../platform/store/users.ts';
import type { MonthlyLimits } from '../../../platform/store/records.ts';
import { LOWERED_TO } from '../http/input/read_fields.ts';
import { closed, component, orNull } from '../http/request_fields.ts';
import type { AccountSettings } from '../../accounts/settings.ts';
import { ApiError } from '../errors.ts';

export const amount = (maximum: number, description: string, more: object = {}) =>
  Type.Optional(orNull(Type.Integer({ minimum: 1, maximum, description, ...more })));

export const DECODED = 'Seconds of media that content checks decoded, each begun one of a request.';

const BIG = Number.MAX_SAFE_INTEGER;
const INT = 2_147_483_647;

const QUOTAS: Readonly<Record<keyof MonthlyLimits, string>> = {
  'request-count': 'Requests.',
  'processing-time': 'Billed milliseconds.',
  'data-processed': 'Bytes read from origins.',
  'decoded-seconds': 'Seconds of media that content checks decode. Other requests are not refused.',
};
const ofEach = <T>(value: (description: string) => T) =>
  Object.fromEntries(Object.entries(QUOTAS).map(([name, text]) => [name, value(text)])) as Record<
    keyof typeof QUOTAS,
    T
  >;

const MonthlyQuota = closed(
  ofEach((description) => amount(BIG, description)),
  { description: 'Per calendar month (UTC).' },
);

export const AskedLimits = {
  'requests-per-minute': amount(1_000_000, 'Requests per minute.'),
  concurrency: amount(100_000, 'Concurrent requests; further ones wait in the queue.'),
  'queue-timeout': amount(INT, 'Milliseconds in the queue.', { [LOWERED_TO]: MAX_QUEUE_MS }),
  'file-size': amount(BIG, 'Maximum bytes of a file.'),
  'cache-max-age': amount(
    MOST_CACHE_AGE_S,
    'Requests without `cache.max_age` have this one, where the cache of results can answer them. The nearest that is ' +
      'set holds: of the token, its user, or an account above. 0: none.',
    { minimum: 0 },
  ),
  'monthly-quota': Type.Optional(orNull(MonthlyQuota)),
};
export const AskedUserLimits = {
  ...AskedLimits,
  'account-concurrency': amount(
    1_000_000,
    'Concurrent requests of the whole account: the root user, their sub-users and all tokens. Root users only. ' +
      "Null: the installation's default; if the operator set none, four times the `concurrency` of the root " +
      'user. 0: unlimited.',
    { minimum: 0 },
  ),
};
type Asked = Static<TObject<typeof AskedUserLimits>>;

const shownAmount = orNull(Type.Integer());
const ShownQuota = closed(ofEach(() => shownAmount));
const shownGiven = {
  'requests-per-minute': shownAmount,
  concurrency: shownAmount,
  'queue-timeout': shownAmount,
  'file-size': shownAmount,
  'cache-max-age': shownAmount,
  'monthly-quota': Type.Unsafe<Static<typeof ShownQuota> | null>({ anyOf: [ShownQuota, { type: 'null' }] }),
};
export const ShownLimits = component('Limits', shownGiven);

export const LimitsInForce = component(
  'LimitsInForce',
  {
    'requests-per-minute': Type.Integer(),
    concurrency: Type.Integer(),
    'queue-timeout': Type.Integer(),
    'file-size': Type.Integer(),
    'cache-max-age': Type.Integer({ description: '0: results of the cache answer where a request asks for them.' }),
    'account-concurrency': orNull(Type.Integer({ description: 'Of the whole account. Absent: unlimited.' })),
  },
  {
    description:
      "The effective limits: no more than any account above has, with the installation's defaults for limits " +
      'that are not set.',
  },
);
export const ShownUserLimits = component('UserLimits', {
  ...shownGiven,
  'account-concurrency': shownAmount,
  'in-force': LimitsInForce,
});

const quotaOf = (quota: Asked['monthly-quota']): unknown => {
  const given = Object.fromEntries(
    Object.entries(quota ?? {}).filter(([, value]) => value !== null && value !== undefined),
  );
  return Object.keys(given).length === 0 ? null : given;
};

type TokenLimits = GivenLimits & { monthlyQuota: unknown };

const or = <T>(asked: T | undefined, before: T): T => (asked === undefined ? before : asked);

/** Absent fields stay unchanged. */
export const changedLimits = (asked: Omit<Asked, 'account-concurrency'>, before: TokenLimits): TokenLimits => ({
  requestsPerMinute: or(asked['requests-per-minute'], before.requestsPerMinute),
  concurrency: or(asked.concurrency, before.concurrency),
  queueTimeoutMs: or(asked['queue-timeout'], before.queueTimeoutMs),
  fileBytes: or(asked['file-size'], before.fileBytes),
  cacheMaxAgeS: or(asked['cache-max-age'], before.cacheMaxAgeS),
  monthlyQuota: asked['monthly-quota'] === undefined ? before.monthlyQuota : quotaOf(asked['monthly-quota']),
});

export const changedUserLimits = (asked: Asked, before: UserLimits): UserLimits => ({
  ...changedLimits(asked, before),
  accountConcurrency: or(asked['account-concurrency'], before.accountConcurrency),
});

export const NO_LIMITS: TokenLimits = { ...NO_GIVEN_LIMITS, monthlyQuota: null };

export const limitsInForce = (limits: Limits): Static<typeof LimitsInForce> => ({
  'requests-per-minute': limits.requestsPerMinute,
  concurrency: limits.concurrency,
  'queue-timeout': limits.queueTimeoutMs,
  'file-size': limits.fileBytes,
  'cache-max-age': limits.cacheMaxAgeS,
  'account-concurrency': limits.accountConcurrency,
});

export const shownUserLimits = (limits: UserLimits, inForce: Limits): Static<typeof ShownUserLimits> => ({
  ...shownLimits(limits),
  'account-concurrency': limits.accountConcurrency,
  'in-force': limitsInForce(inForce),
});

export function shownLimits(limits: TokenLimits): Static<typeof ShownLimits> {
  const quota = limits.monthlyQuota as Record<string, number> | null;
  return {
    'requests-per-minute': limits.requestsPerMinute,
    concurrency: limits.concurrency,
    'queue-timeout': limits.queueTimeoutMs,
    'file-size': limits.fileBytes,
    'cache-max-age': limits.cacheMaxAgeS,
    'monthly-quota': quota && { ...ofEach(() => null), ...quota },
  };
}

export function accountFull(
  what: AccountFull,
  { mostSubUsers, mostTokens }: Pick<AccountSettings, 'mostSubUsers' | 'mostTokens'>,
): ApiError {
  return what === 'sub-users'
    ? new ApiError('too-many-users', { text: `the account has reached its limit of ${mostSubUsers} sub-users` })
    : new ApiError('too-many-tokens', {
        text: `the account has reached its limit of ${mostTokens} API tokens over all its users`,
      });
}
