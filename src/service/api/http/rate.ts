/** Rate limits of calls, and the headers that report them. */
import { isShared, siteOf } from '../../accounts/networks.ts';
import type { AttemptLimit } from '../../../platform/store/attempts.ts';
import type { Rate } from '../../../platform/store/records.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { callerOf, remoteIp, tokenOf, type Context, type Handler } from './request_context.ts';

/** Management calls and reading back share one limit, over all users and tokens of an account. */
const CALLS_PER_MINUTE = 600;

const WINDOW_S = 60;

/**
 * Calls of one endpoint without a credential, from one address. Each costs up to 1 ms of the event loop, whatever its
 * body is, before the limits of attempts (src/service/accounts/attempts.ts) are looked at. An address that many callers
 * share has more.
 */
const OPEN_CALLS = { burst: 200, everyMs: 200 } as const;
const OPEN_CALLS_SHARED = { burst: 2_000, everyMs: 20 } as const;

/** In the form of the IETF draft httpapi-ratelimit-headers. */
function headersOf(rate: Rate): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${rate.limit};w=${WINDOW_S}`,
    RateLimit: `"default";r=${rate.remaining};t=${Math.ceil(rate.resetMs / 1000)}`,
  };
}

export const rateLimitHeaders: Handler = async function rateLimitHeaders(ctx, next) {
  try {
    await next();
  } finally {
    // The error handler is an outer middleware and keeps these headers.
    if (ctx.state.rate) ctx.set(headersOf(ctx.state.rate));
  }
};

// What an address may do before its caller is authenticated: look-ups of unknown API tokens without a checksum, each of
// which costs a query of Postgres, and calls that need no credential. The limit is in process: one in Postgres would
// cost the query that it should save. Each replica has its own.

/** After a restart every valid token is looked up once, possibly all of them through one proxy. */
const GUESSES = { burst: 200, everyMs: 200 } as const;

/** About 1 MB. Further addresses share one limit. */
const MOST_SITES = 10_000;
const SWEEP_MS = 1_000;
const ALL_OTHERS = 'others';

export function makeGuessLimit(now = (): number => performance.now(), { burst, everyMs }: AttemptLimit = GUESSES) {
  /** When the limit of an address has fully recovered. */
  const wholeAt = new Map<string, number>();
  let sweptAt = -Infinity;

  function keyOf(address: string): string {
    const site = siteOf(address);
    if (wholeAt.has(site) || wholeAt.size < MOST_SITES) return site;
    if (now() - sweptAt >= SWEEP_MS) {
      sweptAt = now();
      for (const [one, at] of wholeAt) if (at <= sweptAt) wholeAt.delete(one);
    }
    return wholeAt.size < MOST_SITES ? site : ALL_OTHERS;
  }

  return {
    /**
     * Counts a look-up from this address, or throws 429. The returned function takes the count back, for a known token.
     */
    take(address: string): () => void {
      const key = keyOf(address);
      const next = Math.max(wholeAt.get(key) ?? 0, now()) + everyMs;
      const waitMs = next - now() - burst * everyMs;
      if (waitMs > 0) throw new ApiError('too-many-attempts', { retryAfterS: waitMs / 1000 });
      wholeAt.set(key, next);
      return () => {
        const left = (wholeAt.get(key) ?? 0) - everyMs;
        if (left > now()) wholeAt.set(key, left);
        else wholeAt.delete(key);
      };
    },
    size: (): number => wholeAt.size,
  };
}

const rateLimited = (retryAfterMs: number, text?: string): ApiError =>
  new ApiError('rate-limited', { retryAfterS: retryAfterMs / 1000, text });

/** Each replica has its own. */
export function addressRate({ accounts }: Pick<Deps, 'accounts'>): Handler {
  const { trustedHops } = accounts.settings;
  const [single, shared] = [OPEN_CALLS, OPEN_CALLS_SHARED].map((calls) => makeGuessLimit(undefined, calls));
  return function takeAddressRate(ctx, next) {
    const address = remoteIp(ctx, trustedHops);
    (isShared(address, trustedHops) ? shared! : single!).take(address);
    return next();
  };
}

export const callRate = ({ store }: Pick<Deps, 'store'>): Handler =>
  async function takeCallRate(ctx, next) {
    const taken = await store.takeRate('user', callerOf(ctx).rootUserId, CALLS_PER_MINUTE);
    ctx.state.rate = taken.rate;
    if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
    return next();
  };

/** Number of accounts from which those with a whole rate are forgotten. */
const SWEEP_FROM = 10_000;

export function makeAccountRates(now = (): number => performance.now()) {
  /** When an account has its whole rate again. */
  const wholeAt = new Map<number | string, number>();
  let sweepAt = SWEEP_FROM;
  return {
    /**
     * Returns the milliseconds after which the account may call again; 0: this call is counted. Text: what else of an
     * account is counted for itself. `count`: at most `perMinute`.
     */
    take(account: number | string, perMinute: number, count = 1): number {
      const at = now();
      if (wholeAt.size >= sweepAt) {
        for (const [one, whole] of wholeAt) if (whole <= at) wholeAt.delete(one);
        sweepAt = Math.max(SWEEP_FROM, wholeAt.size * 2);
      }
      const next = Math.max(wholeAt.get(account) ?? at, at) + (count * WINDOW_S * 1000) / perMinute;
      const waitMs = next - at - WINDOW_S * 1000;
      if (waitMs > 0) return waitMs;
      wholeAt.set(account, next);
      return 0;
    },
  };
}

/**
 * Calls of the probe endpoints are counted for the account, too, or each further token would add to what it may cause.
 * In process: a row of Postgres would make the requests of one account wait for one another's commits.
 */
export const accountRate = ({ accountRates }: Pick<Deps, 'accountRates'>): Handler =>
  function takeAccountRate(ctx, next) {
    const { rootUserId, limits } = tokenOf(ctx);
    const perMinute = limits.accountRequestsPerMinute;
    const waitMs = accountRates.take(rootUserId, perMinute);
    if (waitMs === 0) return next();
    ctx.state.rate = { limit: perMinute, remaining: 0, resetMs: waitMs + WINDOW_S * 1000 };
    throw rateLimited(waitMs, 'rate limit of the account exceeded, over all its users and tokens; try again later');
  };

/** Of policies by an account, besides the calls of its users. */
export const SAVES_PER_MINUTE = 10;

/** Counts a policy that is saved, also one that is refused: what costs most is to read it. */
export async function takeSaveRate({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<void> {
  const { allowed, retryAfterMs } = await store.takeRate('policy', tokenOf(ctx).rootUserId, SAVES_PER_MINUTE);
  if (allowed) return;
  throw rateLimited(retryAfterMs, `an account saves at most ${SAVES_PER_MINUTE} policies a minute; try again later`);
}

/** Counts a call of a probe endpoint that opens no request. */
export async function takeRequestRate({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<void> {
  const { id, limits } = tokenOf(ctx);
  const taken = await store.takeRate('token', id, limits.requestsPerMinute);
  ctx.state.rate = taken.rate;
  if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
}

/**
 * Probe endpoints count a call when they open its request. Authenticated calls that are refused before that are counted
 * here.
 */
export const countRefused = ({ store }: Pick<Deps, 'store'>): Handler =>
  async function countRefusedCall(ctx, next) {
    try {
      await next();
    } catch (error) {
      const { token } = ctx.state;
      if (!token || ctx.state.rate || !(error instanceof ApiError) || error.status >= 500) throw error;
      const taken = await store.takeRate('token', token.id, token.limits.requestsPerMinute);
      ctx.state.rate = taken.rate;
      throw taken.allowed ? error : rateLimited(taken.retryAfterMs);
    }
  };
