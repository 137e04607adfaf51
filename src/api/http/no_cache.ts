import type { Handler } from './context.ts';

export const noCache: Handler = function noCache(ctx, next) {
  ctx.set('Cache-Control', 'no-store');
  return next();
};
