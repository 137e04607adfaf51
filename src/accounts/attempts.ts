/** How often something may be tried before it must wait: by the account it is about and by the address it comes from. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { AttemptLimit } from '../store/attempts.ts';
import type { Store } from '../store/store.ts';

const MINUTE_MS = 60_000;

export const ATTEMPT_LIMITS = {
  /** Ten wrong passwords at once, then one a minute. */
  'password:account': { burst: 10, everyMs: MINUTE_MS },
  'password:address': { burst: 100, everyMs: 3_000 },
  /** Mails to one address. */
  'mail:account': { burst: 3, everyMs: 10 * MINUTE_MS },
  'mail:address': { burst: 30, everyMs: MINUTE_MS },
  'code:address': { burst: 60, everyMs: 5_000 },
  'invite:account': { burst: 50, everyMs: MINUTE_MS },
} as const satisfies Record<string, AttemptLimit>;

export type AttemptScope = keyof typeof ATTEMPT_LIMITS;
export type AttemptLimits = Record<AttemptScope, AttemptLimit>;

/** A household has a /64 of IPv6. */
export const addressKey = (ip: string): string => (isIPv6(ip) && !ip.startsWith('::ffff:') ? `${expand(ip).slice(0, 4).join(':')}::/64` : ip.replace(/^::ffff:/, ''));

function expand(ip: string): string[] {
  const [head = '', tail] = ip.split('::');
  const parts = (text: string) => (text === '' ? [] : text.split(':'));
  const [front, back] = [parts(head), parts(tail ?? '')];
  return [...front, ...Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0'), ...back].map((part) => part.toLowerCase().replace(/^0+(?=.)/, ''));
}

export class TooManyAttempts extends Error {
  readonly code = 'too-many-attempts';
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too many attempts');
    this.name = 'TooManyAttempts';
    this.retryAfterMs = retryAfterMs;
  }
}

const keyOf = (text: string): Buffer => createHash('sha256').update(text.toLowerCase()).digest();

export interface Attempts {
  /** Throws TooManyAttempts. */
  take(scope: AttemptScope, key: string): Promise<void>;
  /** It went well: what went wrong before counts no more. */
  forget(scope: AttemptScope, key: string): Promise<void>;
}

export const makeAttempts = (store: Pick<Store, 'takeAttempt' | 'forgetAttempts'>, limits: AttemptLimits): Attempts => ({
  async take(scope, key) {
    const waitMs = await store.takeAttempt(scope, keyOf(key), limits[scope]);
    if (waitMs > 0) throw new TooManyAttempts(waitMs);
  },
  forget: (scope, key) => store.forgetAttempts(scope, keyOf(key)),
});
