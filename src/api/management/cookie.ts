/** The cookie `jwt`: out of reach of scripts, not sent along by other sites, over TLS only where there is TLS. */
import type { TLSSocket } from 'node:tls';
import type { Context } from '../context.ts';
import type { Deps } from '../deps.ts';
import { COOKIE } from './authenticate.ts';

const behindTls = (ctx: Context, { accounts }: Pick<Deps, 'accounts'>): boolean =>
  accounts.settings.publicUrl.startsWith('https:') || (ctx.req.socket as Partial<TLSSocket>).encrypted === true || ctx.get('X-Forwarded-Proto').split(',')[0]!.trim() === 'https';

export function setCookie(ctx: Context, deps: Pick<Deps, 'accounts'>, { token, expire }: { token: string; expire: Date }): void {
  ctx.append('Set-Cookie', `${COOKIE}=${token}; Path=/; Expires=${expire.toUTCString()}; HttpOnly; SameSite=Lax${behindTls(ctx, deps) ? '; Secure' : ''}`);
}

export const clearCookie = (ctx: Context, deps: Pick<Deps, 'accounts'>): void => setCookie(ctx, deps, { token: '', expire: new Date(0) });
