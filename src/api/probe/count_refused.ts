/**
 * The rate counts every authenticated call of the probe endpoints, refused ones too: those that opened no request are
 * counted here.
 */
import type { Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { GatewayError } from '../errors.ts';
import { rateLimited } from './open.ts';

export const countRefused =
  ({ store }: Pick<Deps, 'store'>): Handler =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const { token } = ctx.state;
      if (!token || ctx.state.rate || !(error instanceof GatewayError) || error.status >= 500) throw error;
      const taken = await store.takeRate('token', token.id, token.limits.requestsPerMinute);
      ctx.state.rate = taken.rate;
      throw taken.allowed ? error : rateLimited(taken.retryAfterMs);
    }
  };
