/**
 * `POST auth/jwt`: a JWT for an authenticated caller. It has no more permissions than the calling credential, and ends
 * with it.
 */
import Type from 'typebox';
import { MOST_DEPTH } from '../../../../platform/store/sessions.ts';
import { callerOf, type Context, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';
import { JwtToken } from './sign_in.ts';

const Body = Type.Object(
  {
    'long-term-token': Type.Boolean({
      default: true,
      description:
        'Whether the JWT is valid for two weeks instead of three hours; never longer than the calling credential.',
    }),
  },
  { additionalProperties: false },
);

async function makeJwt({ accounts }: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const opened = await accounts.openSession({
    userId: caller.userId,
    long: checkedBy(Body, ctx)['long-term-token'],
    remoteIp: remoteIp(ctx, accounts.settings.trustedHops),
    userAgent: ctx.get('User-Agent'),
    within: caller,
  });
  if (opened === 'too-deep')
    throw new ApiError('jwt-chain', {
      text: `a chain of JWTs that make JWTs has at most ${MOST_DEPTH} links`,
    });
  if (opened === 'parent-ended') throw new ApiError('bad-credential', { text: 'the credential has ended' });
  ctx.body = { token: opened.token, expire: opened.expire.toISOString() };
}

export const jwt = endpoint(
  'POST auth/jwt',
  {
    id: 'makeJwt',
    tag: 'auth',
    summary: 'Create a JWT',
    body: Body,
    description:
      'It ends with the calling API token or session at the latest. JWTs and API tokens created with it end with it.',
    answer: { description: 'The JWT, with a session of its own.', schema: JwtToken },
  },
  makeJwt,
);
