/** Rate limits of calls, and the headers that report them. */
import type { Rate } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { callerOf, tokenOf, type Context, type Handler } from './context.ts';

/** Management and reading back share one limit, per user. */
const CALLS_PER_MINUTE = 600;

const WINDOW_S = 60;

/** In the form of the IETF draft httpapi-ratelimit-headers. */
function headersOf(rate: Rate): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${rate.limit};w=${WINDOW_S}`,
    RateLimit: `"default";r=${rate.remaining};t=${Math.ceil(rate.resetMs / 1000)}`,
  };
}

/** On every answer whose call was counted. */
export const rateLimitHeaders: Handler = async function rateLimitHeaders(ctx, next) {
  try {
    await next();
  } catch (error) {
    // The error handler sits further out and keeps what is set here.
    if (ctx.state.rate) ctx.set(headersOf(ctx.state.rate));
    throw error;
  }
  if (ctx.state.rate) ctx.set(headersOf(ctx.state.rate));
};

const rateLimited = (retryAfterMs: number): ApiError =>
  new ApiError('rate-limited', { retryAfterS: retryAfterMs / 1000 });

export const userRate = ({ store }: Pick<Deps, 'store'>): Handler =>
  async function takeUserRate(ctx, next) {
    const taken = await store.takeRate('user', callerOf(ctx).userId, CALLS_PER_MINUTE);
    ctx.state.rate = taken.rate;
    if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
    return next();
  };

/** Of a call of a probe endpoint that opens no request. */
export async function takeRequestRate({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<void> {
  const { id, limits } = tokenOf(ctx);
  const taken = await store.takeRate('token', id, limits.requestsPerMinute);
  ctx.state.rate = taken.rate;
  if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
}

/**
 * Probe endpoints count a call where they open its request. A call that is refused before, but authenticated, is
 * counted here.
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
