/**
 * One log line per request, and its metrics, once the response is sent or its caller has disconnected. Lines contain
 * the route's pattern instead of the path, which may contain secrets.
 */
import { type Logger, requestFields } from '../../../base/log.ts';
import type { Context, Handler } from './request_context.ts';
import type { Metrics } from '../api_metrics.ts';

const HEALTH = new Set(['/healthz', '/readyz']);
/** The caller disconnected before the first byte of the response. */
const HUNG_UP = 499;

const routeOf = (ctx: Context): string => (ctx['_matchedRoute'] as string | undefined) ?? 'other';

/**
 * Called when the response closes. Only the response shows what was sent: `req.destroyed` is true as soon as a body has
 * been read.
 */
function record(log: Logger, metrics: Metrics, ctx: Context, ms: number): void {
  const route = routeOf(ctx);
  const status = ctx.res.headersSent ? ctx.res.statusCode : HUNG_UP;
  const cut = ctx.res.headersSent && !ctx.res.writableFinished;
  metrics.request(route, status, ms);
  if (cut) metrics.cutAnswer(route);
  // Kubelets and load balancers call these every few seconds.
  const level = HEALTH.has(route) ? 'debug' : 'info';
  const { requestId, token, caller, code } = ctx.state;
  log[level](
    {
      ...requestFields({ id: requestId }),
      method: ctx.method,
      route,
      status,
      ...(code ? { code } : {}),
      ms: Math.round(ms * 10) / 10,
      ...(cut ? { cut } : {}),
      token: token?.id ?? caller?.tokenId ?? undefined,
      user: caller?.userId,
    },
    'request',
  );
}

export const accessLog = (log: Logger, metrics: Metrics): Handler =>
  function logAccess(ctx, next) {
    const began = performance.now();
    let ended: number | undefined;
    ctx.res.once('finish', () => {
      ended = performance.now();
    });
    ctx.res.once('close', () => record(log, metrics, ctx, (ended ?? performance.now()) - began));
    return next();
  };
