/** The cookie `jwt`: out of reach of scripts, not sent along by other sites, over TLS only where there is TLS. */
import type { TLSSocket } from 'node:tls';
import type { Context } from '../context.ts';
import type { Deps } from '../deps.ts';
import { KNOWN_MS } from '../../accounts/known_browsers.ts';
import { COOKIE } from './authenticate.ts';
import { BASE } from './error_body.ts';

const behindTls = (ctx: Context, { accounts }: Pick<Deps, 'accounts'>): boolean =>
  accounts.settings.publicUrl.startsWith('https:') || (ctx.req.socket as Partial<TLSSocket>).encrypted === true || ctx.get('X-Forwarded-Proto').split(',')[0]!.trim() === 'https';

/** The mark of a known browser: sent to the endpoints of accounts alone, and never by another site. */
const BROWSER = 'known-browser';
const BROWSER_PATH = `${BASE}/auth`;

export const browserMark = (ctx: Pick<Context, 'cookies'>): string | undefined => ctx.cookies.get(BROWSER);

export function setBrowserMark(ctx: Context, deps: Pick<Deps, 'accounts'>, mark: string): void {
  const secure = behindTls(ctx, deps) ? '; Secure' : '';
  ctx.append('Set-Cookie', `${BROWSER}=${mark}; Path=${BROWSER_PATH}; Max-Age=${KNOWN_MS / 1000}; HttpOnly; SameSite=Strict${secure}`);
}

export function setCookie(ctx: Context, deps: Pick<Deps, 'accounts'>, { token, expire }: { token: string; expire: Date }): void {
  ctx.append('Set-Cookie', `${COOKIE}=${token}; Path=/; Expires=${expire.toUTCString()}; HttpOnly; SameSite=Lax${behindTls(ctx, deps) ? '; Secure' : ''}`);
}

export const clearCookie = (ctx: Context, deps: Pick<Deps, 'accounts'>): void => setCookie(ctx, deps, { token: '', expire: new Date(0) });
