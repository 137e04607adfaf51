/**
 * Every answer names its request. Probe endpoints set their own id once they have accepted the request: the one it is
 * stored under.
 */
import type { Context, Handler } from './context.ts';

export function setRequestId(ctx: Context, id: string): void {
  ctx.state.requestId = id;
  ctx.set('X-Request-Id', id);
}

export const requestId =
  (newId: () => string): Handler =>
  (ctx, next) => {
    setRequestId(ctx, newId());
    return next();
  };
