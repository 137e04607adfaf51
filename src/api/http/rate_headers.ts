/**
 * RateLimit-Policy and RateLimit, in the form of the IETF draft (httpapi-ratelimit-headers): on every answer whose rate
 * was taken.
 */
import type { Rate } from '../../store/records.ts';
import type { Handler } from './context.ts';

const MINUTE = 60;

function rateHeaders(rate: Rate): Record<string, string> {
  return {
    'RateLimit-Policy': `"default";q=${rate.limit};w=${MINUTE}`,
    RateLimit: `"default";r=${rate.remaining};t=${Math.ceil(rate.resetMs / 1000)}`,
  };
}

export const rateLimitHeaders: Handler = async function rateLimitHeaders(ctx, next) {
  try {
    await next();
  } catch (error) {
    // The error handler sits further out and keeps what is set here.
    if (ctx.state.rate) ctx.set(rateHeaders(ctx.state.rate));
    throw error;
  }
  if (ctx.state.rate) ctx.set(rateHeaders(ctx.state.rate));
};
