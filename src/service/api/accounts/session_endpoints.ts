/**
 * Sessions of the caller: list them, end them, and `auth/jwt`, which opens one more. Its JWT has no more permissions
 * than the calling credential, and ends with it.
 */
import Type from 'typebox';
import { MOST_DEPTH } from '../../../platform/store/sessions.ts';
import { callerOf, type Context, remoteIp, uuidOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { closed, component, flag, oneOf, orNull } from '../http/request_fields.ts';
import { JwtToken } from './sign_in_endpoint.ts';
import { RetUrl, safeRetUrl, Uuid } from './account_fields.ts';
import { clearCookie } from '../http/authenticate.ts';

const JwtBody = closed({
  'long-term-token': flag(
    true,
    'Whether the JWT is valid for two weeks instead of three hours; never longer than the calling credential.',
  ),
});

async function makeJwt({ accounts }: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const opened = await accounts.openSession({
    userId: caller.userId,
    long: checkedBy(JwtBody, ctx)['long-term-token'],
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
    summary: 'Create a JWT',
    body: JwtBody,
    description:
      'It ends with the calling API token or session at the latest. JWTs and API tokens created with it end with it.',
    answer: { description: 'The JWT, with a session of its own.', schema: JwtToken },
  },
  makeJwt,
);

const UA_TYPES = ['browser', 'mobile', 'cli', 'other'] as const;
const SessionsQuery = closed({ 'include-expired': flag(false, 'Include sessions that ended within 30 days.') });
const Session = component('Session', {
  id: Type.String({ format: 'uuid' }),
  created: Type.String({ format: 'date-time' }),
  expire: Type.String({ format: 'date-time' }),
  'remote-ip': Type.String(),
  'ua-type': oneOf(UA_TYPES),
  'user-agent': Type.String(),
});
const SessionsAnswer = closed({ sessions: Type.Array(Session) });

function uaType(userAgent: string): (typeof UA_TYPES)[number] {
  if (/Mobile|Android|iPhone|iPad/.test(userAgent)) return 'mobile';
  if (userAgent.startsWith('Mozilla/')) return 'browser';
  return /^(curl|Wget|HTTPie|python|Go-http|node|okhttp|axios)/i.test(userAgent) ? 'cli' : 'other';
}

async function listSessions({ store }: Deps, ctx: Context): Promise<void> {
  const found = await store.listSessions(callerOf(ctx).userId, {
    includeExpired: checkedBy(SessionsQuery, ctx)['include-expired'],
  });
  ctx.body = {
    sessions: found.map(({ id, createdAt, expiresAt, remoteIp: address, userAgent }) => ({
      id,
      created: createdAt.toISOString(),
      expire: expiresAt.toISOString(),
      'remote-ip': address,
      'ua-type': uaType(userAgent),
      'user-agent': userAgent,
    })),
  };
}

export const sessions = endpoint(
  'GET auth/session',
  {
    id: 'listSessions',
    summary: 'List your sessions',
    query: SessionsQuery,
    answer: { description: 'Sessions, newest first.', schema: SessionsAnswer },
  },
  listSessions,
);

async function endAll({ store }: Deps, ctx: Context): Promise<void> {
  await store.endSessions(callerOf(ctx).userId);
  ctx.status = 204;
}

export const endSessions = endpoint(
  'DELETE auth/session',
  {
    id: 'endSessions',
    summary: 'Log out everywhere',
    answer: { description: 'All sessions have ended, including the calling one.' },
  },
  endAll,
);

async function endOne({ store }: Deps, ctx: Context): Promise<void> {
  if (!(await store.endSession(callerOf(ctx).userId, uuidOf(ctx)))) throw notFound();
  ctx.status = 204;
}

export const endSession = endpoint(
  'DELETE auth/session/:id',
  {
    id: 'endSession',
    summary: 'End a session',
    params: { id: Uuid },
    answer: { description: 'The session has ended.' },
  },
  endOne,
);

const SignOutQuery = closed({ 'logout-all': flag(false, 'End every session of the user.'), 'ret-url': RetUrl });
const SignOutAnswer = closed({ success: Type.Literal(true), 'ret-url': orNull(Type.String()) });

async function endCalling(deps: Deps, ctx: Context): Promise<void> {
  const { userId, sessionId } = callerOf(ctx);
  const asked = checkedBy(SignOutQuery, ctx);
  if (asked['logout-all']) await deps.store.endSessions(userId);
  else if (sessionId !== null) await deps.store.endSession(userId, sessionId);
  clearCookie(ctx, deps);
  ctx.body = { success: true, 'ret-url': safeRetUrl(asked['ret-url']) };
}

export const signOut = endpoint(
  'DELETE auth/sign-out',
  {
    id: 'signOut',
    summary: 'Sign out',
    query: SignOutQuery,
    description: 'A call with an API token has no session to end, unless `logout-all` is set.',
    answer: { description: 'Signed out.', schema: SignOutAnswer },
  },
  endCalling,
);
