/** Limits of attempts (passwords, mails, codes), by account and by client address. */
import { createHash } from 'node:crypto';
import { CodedError } from '../../base/coded_error.ts';
import type { AttemptLimit } from '../../platform/store/attempts.ts';
import type { Store } from '../../platform/store/store.ts';
import { isShared, networkOf, siteOf } from './networks.ts';

const MINUTE_MS = 60_000;

export const ATTEMPT_LIMITS = {
  /** Wrong passwords for an account from one network: ten at once, then one a minute. */
  'password:network': { burst: 10, everyMs: MINUTE_MS },
  /** From all networks together: far more, so that attackers in one network cannot lock the owner out everywhere. */
  'password:account': { burst: 100, everyMs: 10_000 },
  /** From a browser that has signed in to the account before; the two limits above do not apply to it. */
  'password:browser': { burst: 10, everyMs: MINUTE_MS },
  /** Sign-ins to any account, including successful ones, because each costs an Argon2 hash. */
  'password:address': { burst: 100, everyMs: 3_000 },
  /** The old password, when a caller changes a password. */
  'password:caller': { burst: 10, everyMs: MINUTE_MS },
  /** Mails to one address. */
  'mail:account': { burst: 3, everyMs: 10 * MINUTE_MS },
  'sign-up:address': { burst: 30, everyMs: MINUTE_MS },
  'reset:address': { burst: 30, everyMs: MINUTE_MS },
  'code:address': { burst: 60, everyMs: 5_000 },
  /** Questions whether somebody has let a program in. The issuer names an interval, usually of five seconds. */
  'sso:device': { burst: 2, everyMs: 4_000 },
  /** Sub-users that are created, over all users of the account: each reveals whether an address has an account. */
  'invite:account': { burst: 50, everyMs: MINUTE_MS },
  /** API tokens that are created, over all users of the account: the log keeps revoked ones. */
  'token:account': { burst: 200, everyMs: 6_000 },
} as const satisfies Record<string, AttemptLimit>;

/** The limits of an address that many callers share are so many times as high. */
const SHARED = 10;

export type AttemptScope = keyof typeof ATTEMPT_LIMITS;
export type AttemptLimits = Record<AttemptScope, AttemptLimit>;

export class TooManyAttempts extends CodedError<'too-many-attempts'> {
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too-many-attempts', 'too many attempts');
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * A user id, or the e-mail address if there is no such user. The address does not serve for all, because databases and
 * JavaScript differ in lower-casing.
 */
export type Account = number | string;

/** The account and the client of an attempt. Addresses are grouped here, so that no caller can forget it. */
export type AttemptKey =
  | { account: Account }
  | { address: string }
  | { account: Account; network: string }
  | { account: Account; browser: string };

function keyOf(key: AttemptKey): Buffer {
  const parts = {
    ...('account' in key ? { account: typeof key.account === 'number' ? key.account : key.account.toLowerCase() } : {}),
    ...('address' in key ? { address: siteOf(key.address) } : {}),
    ...('network' in key ? { network: networkOf(key.network) } : {}),
    ...('browser' in key ? { browser: key.browser } : {}),
  };
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}

export function makeAttempts(
  store: Pick<Store, 'takeAttempt' | 'giveBackAttempt' | 'forgetAttempts'>,
  limits: AttemptLimits,
  trustedHops: number,
) {
  function limitOf(scope: AttemptScope, key: AttemptKey): AttemptLimit {
    const limit = limits[scope];
    if (!('address' in key) || !isShared(key.address, trustedHops)) return limit;
    return { burst: limit.burst * SHARED, everyMs: Math.ceil(limit.everyMs / SHARED) };
  }
  return {
    /** Throws TooManyAttempts. */
    async take(scope: AttemptScope, key: AttemptKey): Promise<void> {
      const waitMs = await store.takeAttempt(scope, keyOf(key), limitOf(scope, key));
      if (waitMs > 0) throw new TooManyAttempts(waitMs);
    },
    /** Returns an attempt that succeeded, so that it does not count. */
    giveBack: (scope: AttemptScope, key: AttemptKey) => store.giveBackAttempt(scope, keyOf(key), limitOf(scope, key)),
    /** Clears earlier failures after a success. */
    forget: (scope: AttemptScope, key: AttemptKey) => store.forgetAttempts(scope, keyOf(key)),
  };
}
