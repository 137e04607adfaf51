/** `POST auth/jwt`: a JWT for who is known already. It may no more than the credential that asks for it, and ends with an API token. */
import Type from 'typebox';
import { callerOf, type Handler } from '../../context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../endpoint.ts';
import { checkedBy } from '../input.ts';
import { remoteIp } from '../remote.ts';
import { JwtToken } from './sign_in.ts';

const Body = Type.Object({ 'long-term-token': Type.Boolean({ default: true, description: 'It lasts two weeks, else three hours; never longer than an API token that asks for it.' }) }, { additionalProperties: false });

const makeJwt = ({ accounts }: Deps): Handler =>
  async (ctx) => {
    const caller = callerOf(ctx);
    const { token, expire } = await accounts.openSession({
      userId: caller.userId, long: checkedBy(Body, ctx)['long-term-token'], remoteIp: remoteIp(ctx, accounts.settings.trustedHops), userAgent: ctx.get('User-Agent'),
      within: { tokenId: caller.tokenId, permissions: caller.permissions, expiresAt: caller.by === 'token' ? caller.expiresAt : null },
    });
    ctx.body = { token, expire: expire.toISOString() };
  };

export const jwt = endpoint('POST auth/jwt', {
  id: 'makeJwt', tag: 'auth', summary: 'A JWT', body: Body, answer: { description: 'It is a session like any other.', schema: JwtToken },
}, (deps) => [makeJwt(deps)]);
