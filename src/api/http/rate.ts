/** Management and read-back share one limit: 600 calls a minute per user. */
import { callerOf, type Handler } from './context.ts';
import type { Deps } from '../deps.ts';
import { rateLimited } from '../probe/open.ts';

const CALLS_PER_MINUTE = 600;

export const managementRate = ({ store }: Pick<Deps, 'store'>): Handler =>
  async function takeRate(ctx, next) {
    const taken = await store.takeRate('user', callerOf(ctx).userId, CALLS_PER_MINUTE);
    ctx.state.rate = taken.rate;
    if (!taken.allowed) throw rateLimited(taken.retryAfterMs);
    return next();
  };
