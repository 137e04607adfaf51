/** Middlewares that are not of one endpoint. */
import { STATUS_CODES } from 'node:http';
import { frequentIf, type Logger, requestFields } from '../../../base/log.ts';
import { BusError } from '../../../platform/bus/errors.ts';
import { isKubeError } from '../../../platform/kube/errors.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import { TooManyAttempts } from '../../accounts/attempts.ts';
import type { Metrics } from '../api_metrics.ts';
import { ApiError, inside, notFound } from '../errors.ts';
import { isManagement } from './endpoint_access.ts';
import { closeIfUnread } from './http_server.ts';
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
      ...frequentIf(status < 400 && !cut),
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

// Every error becomes a response. The error body of the management endpoints:

export function errorBody(error: Pick<ApiError, 'status' | 'number' | 'message' | 'field'>, id: string) {
  const context = error.status === 500 ? { 'request-id': id } : error.field === undefined ? {} : { field: error.field };
  return {
    code: error.number,
    context,
    error: error.message,
    status: STATUS_CODES[error.status] ?? '',
  };
}

const BUS_AWAY: readonly BusError['code'][] = ['no-responders', 'timeout', 'disconnected', 'no-stream'];

/** The dependency that was unreachable, after all retries. */
function away(error: unknown): 'postgres' | 'kubernetes' | 'nats' | undefined {
  if (isStoreError(error, 'unreachable', 'timeout')) return 'postgres';
  if (isKubeError(error, 'unreachable', 'timeout', 'unavailable', 'too-many-requests', 'broken-stream'))
    return 'kubernetes';
  return error instanceof BusError && BUS_AWAY.includes(error.code) ? 'nats' : undefined;
}

/** Koa and its parts (http-errors) mark errors of the caller by status and `expose`. */
function frameworkError(error: unknown): ApiError | null {
  const { status, expose } = error as { status?: unknown; expose?: unknown };
  if (
    !(error instanceof Error) ||
    typeof expose !== 'boolean' ||
    typeof status !== 'number' ||
    status < 400 ||
    status > 499
  )
    return null;
  const phrase = STATUS_CODES[status]?.toLowerCase() ?? 'the request cannot be answered';
  return new ApiError('bad-request', {
    status,
    text: expose && error.message !== '' ? error.message : phrase,
    detail: error.message,
  });
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TooManyAttempts)
    return new ApiError('too-many-attempts', { retryAfterS: error.retryAfterMs / 1000 });
  const message = error instanceof Error ? error.message : String(error);
  const reason = away(error);
  if (reason) return new ApiError('unavailable', { detail: message, cause: error, reason });
  return frameworkError(error) ?? inside(message, error);
}

function write(log: Logger, error: ApiError, id: string): void {
  const { code, status, toolCode, detail } = error;
  const line = { ...requestFields({ id }), code: toolCode ?? code, status, detail };
  if (error.code === 'overloaded') log.debug(line, 'request refused');
  else if (error.status === 503) log.warn({ ...line, err: error.cause }, 'request failed');
  else if (error.status >= 500) log.error({ ...line, err: error.cause ?? error }, 'request failed');
  else log.debug(line, 'request refused');
}

export const errorHandler = (log: Logger, metrics: Pick<Metrics, 'failed'>): Handler =>
  async function handleError(ctx, next) {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw notFound();
    } catch (thrown) {
      const error = apiErrorOf(thrown);
      ctx.state.code = error.code;
      ctx.status = error.status;
      ctx.set(error.headers);
      closeIfUnread(ctx.req, ctx.res);
      const { message, toolCode } = error;
      if (ctx.state.errorPage) ctx.state.errorPage(error);
      else
        ctx.body = isManagement(ctx.path)
          ? errorBody(error, ctx.state.requestId)
          : { error: message, ...(toolCode === undefined ? {} : { code: toolCode }) };
      if (error.status >= 500) metrics.failed(error.reason);
      write(log, error, ctx.state.requestId);
    }
  };
