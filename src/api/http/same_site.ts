/**
 * Another site's page may not change anything with the cookie that a browser adds by itself, nor put its own cookie in
 * place by a sign-in. The cookie is SameSite=Lax too; this holds where a browser does not know that, and for other
 * ports and names of the same site.
 */
import type { Context, Handler } from './context.ts';
import { forbidden } from '../errors.ts';

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

export const sameSite = (ownHosts: readonly string[]): Handler =>
  function refuseForeign(ctx, next) {
    const changes = ctx.method !== 'GET';
    if (changes && (ctx.state.byCookie === true || ctx.state.caller === undefined) && isForeign(ctx, ownHosts)) {
      throw forbidden('no-permission', 'a change with the cookie may come from this site only');
    }
    return next();
  };
