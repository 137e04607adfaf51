/** Small steps that endpoints share. */
import { ApiError } from '../errors.ts';
import type { Context, Handler } from './context.ts';

/** HEAD is not treated as GET, because a GET may start a probe. */
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

/** Probe endpoints set an id of their own once they have accepted the request: the one it is stored under. */
export function setRequestId(ctx: Context, id: string): void {
  ctx.state.requestId = id;
  ctx.set('X-Request-Id', id);
}

export const requestId = (newId: () => string): Handler =>
  function nameRequest(ctx, next) {
    setRequestId(ctx, newId());
    return next();
  };

const hostOf = (origin: string): string | null => {
  try {
    return new URL(origin).host.toLowerCase();
  } catch {
    return null;
  }
};

/** `ownHosts`: further names under which this installation is reached, where a proxy in front changes Host. */
function isForeign(ctx: Pick<Context, 'get'>, ownHosts: readonly string[]): boolean {
  const origin = ctx.get('Origin');
  if (origin !== '') {
    const host = hostOf(origin);
    return host === null || (host !== ctx.get('Host').toLowerCase() && !ownHosts.includes(host));
  }
  // No browser of today leaves both away; what is no browser sends no cookie of somebody else.
  const site = ctx.get('Sec-Fetch-Site');
  return site === 'cross-site' || site === 'same-site';
}

/**
 * Another site's page may not change anything with the cookie that a browser adds by itself, nor put its own cookie in
 * place by a sign-in. The cookie is SameSite=Lax too; this covers browsers that ignore that, and other ports and names
 * of the same site.
 */
export const sameSite = (ownHosts: readonly string[]): Handler =>
  function refuseForeign(ctx, next) {
    const changes = ctx.method !== 'GET';
    if (changes && (ctx.state.byCookie === true || ctx.state.caller === undefined) && isForeign(ctx, ownHosts)) {
      throw new ApiError('foreign-site');
    }
    return next();
  };
