/** Rate limits of calls, and the headers that report them. */
import type { Rate } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { callerOf, tokenOf, type Context, type Handler } from './context.ts';

/** Management calls and reading back share one limit, over all users and tokens of an account. */
const CALLS_PER_MINUTE = 600;

const WINDOW_S = 60;

/** In the form of the IETF draft httpapi-ratelimit-headers. */
function headersOf(rate: Rate): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${rate.limit};w=${WINDOW_S}`,
    RateLimit: `"default";r=${rate.remaining};t=${Math.ceil(rate.resetMs / 1000)}`,
  };
}

/** Set on every response to a counted call. */
export const rateLimitHeaders: Handler = async function rateLimitHeaders(ctx, next) {
  try {
    await next();
  } catch (error) {
    // The error handler is an outer middleware and keeps these headers.
    if (ctx.state.rate) ctx.set(headersOf(ctx.state.rate));
    throw error;
  }
  if (ctx.state.rate) ctx.set(headersOf(ctx.state.rate));
};

const rateLimited = (retryAfterMs: number): ApiError =>
  new ApiError('rate-limited', { retryAfterS: retryAfterMs / 1000 });

export const callRate = ({ store }: Pick<Deps, 'store'>): Handler =>
  async function takeCallRate(ctx, next) {
    const taken = await store.takeRate('user', callerOf(ctx).rootUserId, CALLS_PER_MINUTE);
    ctx.state.rate = taken.rate;
    if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
    return next();
  };

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
