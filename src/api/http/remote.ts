/** Where a call comes from: the peer, or what the proxies in front, as many as are trusted, say of it. */
import type { Context } from './context.ts';

export function remoteIp(ctx: Pick<Context, 'get' | 'req'>, trustedHops: number): string {
  const peer = (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (trustedHops === 0) return peer;
  const said = ctx
    .get('X-Forwarded-For')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  // Each trusted proxy adds one at the end; what stands before those is whatever the caller wrote.
  return (said.at(-trustedHops) ?? said[0] ?? peer).slice(0, 64);
}
