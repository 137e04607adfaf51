/**
 * The cookie `jwt`: not readable by scripts, not sent by other sites, and with TLS sent only over TLS.
 * With TLS it is also set as `__Host-jwt`, which no other host of the domain can set.
 */
import type { TLSSocket } from 'node:tls';
import type { Context } from './context.ts';
import type { Deps } from '../deps.ts';
import { KNOWN_MS } from '../../accounts/known_browsers.ts';
import { COOKIE, HOST_COOKIE } from './authenticate.ts';
import { BASE } from './side.ts';

const behindTls = (ctx: Context, { accounts }: Pick<Deps, 'accounts'>): boolean =>
  accounts.settings.publicUrl.startsWith('https:') ||
  (ctx.req.socket as Partial<TLSSocket>).encrypted === true ||
  ctx.get('X-Forwarded-Proto').split(',')[0]!.trim() === 'https';

/** The mark of a known browser: sent only to the account endpoints, and never from another site. */
const BROWSER = 'known-browser';
const BROWSER_PATH = `${BASE}/auth`;

export const browserMark = (ctx: Pick<Context, 'cookies'>): string | undefined => ctx.cookies.get(BROWSER);

export function setBrowserMark(ctx: Context, deps: Pick<Deps, 'accounts'>, mark: string): void {
  const secure = behindTls(ctx, deps) ? '; Secure' : '';
  ctx.append(
    'Set-Cookie',
    `${BROWSER}=${mark}; Path=${BROWSER_PATH}; Max-Age=${KNOWN_MS / 1000}; HttpOnly; SameSite=Strict${secure}`,
  );
}

export function setCookie(
  ctx: Context,
  deps: Pick<Deps, 'accounts'>,
  { token, expire }: { token: string; expire: Date },
): void {
  const attributes = `Path=/; Expires=${expire.toUTCString()}; HttpOnly; SameSite=Lax`;
  const tls = behindTls(ctx, deps);
  ctx.append('Set-Cookie', `${COOKIE}=${token}; ${attributes}${tls ? '; Secure' : ''}`);
  if (tls) ctx.append('Set-Cookie', `${HOST_COOKIE}=${token}; ${attributes}; Secure`);
}

export const clearCookie = (ctx: Context, deps: Pick<Deps, 'accounts'>): void =>
  setCookie(ctx, deps, { token: '', expire: new Date(0) });
