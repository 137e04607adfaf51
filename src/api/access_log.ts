/**
 * One line per request, and its metrics. The route's pattern stands for the path: paths and queries may hold secrets,
 * and an unknown path is whatever a caller wrote.
 */
import type { Logger } from '../log.ts';
import type { Context, Handler } from './context.ts';
import type { Metrics } from './metrics.ts';

const HEALTH = new Set(['/healthz', '/readyz']);

export const routeOf = (ctx: Context): string => (ctx['_matchedRoute'] as string | undefined) ?? 'other';

export const accessLog = (log: Logger, metrics: Metrics): Handler =>
  async (ctx, next) => {
    const began = performance.now();
    try {
      await next();
    } finally {
      const ms = performance.now() - began;
      const route = routeOf(ctx);
      const hungUp = ctx.req.destroyed && !ctx.res.writableFinished && !ctx.res.headersSent;
      const status = hungUp ? 499 : ctx.status;
      metrics.request(route, status, ms);
      // Kubelets and load balancers ask every few seconds.
      const level = HEALTH.has(route) ? 'debug' : 'info';
      log[level]({ request: ctx.state.requestId, method: ctx.method, route, status, ms: Math.round(ms * 10) / 10, token: ctx.state.token?.id ?? ctx.state.caller?.tokenId ?? undefined, user: ctx.state.caller?.userId }, 'request');
    }
  };
