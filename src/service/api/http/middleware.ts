/** Middlewares that are not of one endpoint. */
import { type Logger, requestFields } from '../../../base/log.ts';
import type { Metrics } from '../api_metrics.ts';
import { ApiError } from '../errors.ts';
import type { Context, Handler } from './request_context.ts';

/** Methods that change nothing and take no body. */
export const isReading = (method: string): boolean => method === 'GET' || method === 'HEAD';

export const methods = (...allowed: string[]): Handler =>
  function checkMethod(ctx, next) {
    if (allowed.includes(ctx.method)) return next();
    throw new ApiError('method-not-allowed', {
      text: `method not allowed; allowed: ${allowed.join(', ')}`,
      headers: { Allow: allowed.join(', ') },
    });
  };

export const noCache: Handler = function noCache(ctx, next) {
  ctx.set('Cache-Control', 'no-store');
  return next();
};

/** Browsers come by TLS only, for half a year. */
export const strictTransport = (publicUrl: string): Handler =>
  function demandTls(ctx, next) {
    if (publicUrl.startsWith('https:')) ctx.set('Strict-Transport-Security', 'max-age=15552000');
    return next();
  };

/** Probe endpoints replace the id once they have accepted the request, by the one that it is stored under. */
export function setRequestId(ctx: Context, id: string): void {
  ctx.state.requestId = id;
  ctx.set('X-Request-Id', id);
}

export const requestId = (newId: () => string): Handler =>
  function nameRequest(ctx, next) {
    setRequestId(ctx, newId());
    return next();
  };

export const hostOf = (origin: string): string | null => {
  try {
    return new URL(origin).host.toLowerCase();
  } catch {
    return null;
  }
};

/** `ownHosts`: further host names of this installation, for a proxy in front that changes Host. */
function isForeign(ctx: Pick<Context, 'get'>, ownHosts: readonly string[]): boolean {
  const origin = ctx.get('Origin');
  if (origin !== '') {
    const host = hostOf(origin);
    return host === null || (host !== ctx.get('Host').toLowerCase() && !ownHosts.includes(host));
  }
  // All current browsers send at least one of these headers; other clients do not send someone else's cookie.
  const site = ctx.get('Sec-Fetch-Site');
  return site === 'cross-site' || site === 'same-site';
}

/**
 * Prevents cross-site requests: a page of another site must not change anything with the cookie that a browser adds,
 * nor replace the cookie by a sign-in. The cookie is also SameSite=Lax; this covers browsers that ignore that, and
 * other ports and names of the same site.
 */
export const sameSite = (ownHosts: readonly string[]): Handler =>
  function refuseForeign(ctx, next) {
    const changes = !isReading(ctx.method);
    if (changes && (ctx.state.byCookie === true || ctx.state.caller === undefined) && isForeign(ctx, ownHosts)) {
      throw new ApiError('foreign-site');
    }
    return next();
  };

// One log line per request, and its metrics, once the response is sent or its caller has disconnected. Lines contain
// the route's pattern instead of the path, which may contain secrets.

const HEALTH = new Set(['/healthz', '/readyz']);

const routeOf = (ctx: Context): string => (ctx['_matchedRoute'] as string | undefined) ?? 'other';

/** 499: the caller disconnected before the first byte of the response. */
export const statusSent = ({ res }: Pick<Context, 'res'>): number => (res.headersSent ? res.statusCode : 499);

/**
 * Called when the response closes. Only the response shows what was sent: `req.destroyed` is true as soon as a body has
 * been read.
 */
function record(log: Logger, metrics: Metrics, ctx: Context, ms: number): void {
  const route = routeOf(ctx);
  const status = statusSent(ctx);
  const cut = ctx.res.headersSent && !ctx.res.writableFinished;
  metrics.request(route, status, ms);
  if (cut) metrics.cutAnswer(route);
  // Kubelets and load balancers call these every few seconds.
  const level = HEALTH.has(route) ? 'debug' : 'info';
  const { requestId: id, token, caller, code } = ctx.state;
  log[level](
    {
      ...requestFields({ id }),
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
