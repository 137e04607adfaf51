/**
 * Sessions. `POST auth/sign-in`: a JWT for a password; a wrong password and an unknown address get the same response,
 * in equal time. `POST auth/sign-in/link`: a JWT for the code of a sign-in link. Then those of the caller: list them,
 * end them, and `auth/jwt`, which opens one more. Its JWT has no more permissions than the calling credential, and ends
 * with it.
 */
import Type, { type Static } from 'typebox';
import type { Accounts, SessionLife } from '../../accounts/accounts.ts';
import { TooManyAttempts, type Account } from '../../accounts/attempts.ts';
import type { RedeemedLink } from '../../../platform/store/account_codes.ts';
import { MOST_DEPTH } from '../../../platform/store/sessions.ts';
import type { StoreCalls } from '../../../platform/store/store.ts';
import type { UserRecord } from '../../../platform/store/users.ts';
import { callerOf, type Context, remoteIp, uuidOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, credentialEnded, inside, invalid, notFound } from '../errors.ts';
import { note, secrets, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { GivenPassword, RetUrl, safeRetUrl, ShownUser, shownUser, Uuid } from './account_fields.ts';
import { closed, component, flag, oneOf, orNull, time } from '../http/request_fields.ts';
import { browserMark, clearCookie, setBrowserMark, setCookie } from '../http/authenticate.ts';

const JwtToken = closed({ token: Type.String(), expire: time() });

/**
 * Whether this account has signed in from the browser before, within the browser's own limit. Successful sign-ins count
 * too, because each costs an Argon2 hash.
 */
async function knownBrowser({ attempts }: Accounts, account: number, browser: string | null): Promise<boolean> {
  if (browser === null) return false;
  try {
    await attempts.take('password:browser', { account, browser });
    return true;
  } catch (error) {
    if (error instanceof TooManyAttempts) return false;
    throw error;
  }
}

/** Takes attempts that `right`, called after a correct password, gives back. */
async function takeAttempt(
  { attempts }: Accounts,
  account: Account,
  address: string,
): Promise<{ right(): Promise<void> }> {
  const [network, everywhere] = [{ account, network: address }, { account }];
  await attempts.take('password:address', { address });
  await attempts.take('password:network', network);
  await attempts.take('password:account', everywhere);
  return {
    async right() {
      await attempts.forget('password:network', network);
      await attempts.giveBack('password:account', everywhere);
    },
  };
}

/** Where people sign in by an issuer alone, nothing sets or takes a password. */
export function checkPasswords({ passwords }: Deps['accounts']['settings']): void {
  if (!passwords) throw new ApiError('passwords-off');
}

export function checkActive(user: UserRecord): void {
  const status = user.aboveSuspended ? 'suspended' : user.status;
  if (status !== 'active') throw new ApiError('account-inactive', { text: `the account is ${status}` });
}

/** The owner of the password, with a mark for the browser. */
async function knownBy({ accounts, store }: Deps, ctx: Context, email: string, password: string) {
  const { knownBrowsers, passwords, settings } = accounts;
  const found = await store.findByEmail(email);
  if (found) note(ctx, { actor: found.user });
  const owner =
    found && found.passwordHash !== null ? { userId: found.user.id, passwordHash: found.passwordHash } : null;
  const browser = owner && (await knownBrowsers.read(owner, browserMark(ctx)));
  const known = owner !== null && (await knownBrowser(accounts, owner.userId, browser));
  const attempt = known
    ? null
    : await takeAttempt(accounts, found?.user.id ?? email, remoteIp(ctx, settings.trustedHops));
  if (!(await passwords.verify(password, owner?.passwordHash ?? null)) || !found || !owner)
    throw new ApiError('bad-credential', { text: 'the e-mail address or the password is wrong' });
  await attempt?.right();
  checkActive(found.user);
  return { user: found.user, mark: await knownBrowsers.mark(owner, browser) };
}

async function shownApiToken({ accounts, store }: Deps, userId: number): Promise<string | null> {
  if (!accounts.settings.tokensViewable) return null;
  const token = await store.firstToken(userId);
  return token?.sealed ? accounts.box.openKept(token.sealed, 'token', token.id) : null;
}

type SessionAsked = Parameters<Accounts['openSession']>[0];

const openSession = (
  { accounts }: Deps,
  ctx: Context,
  asked: Omit<SessionAsked, 'remoteIp' | 'userAgent'>,
  calls?: StoreCalls,
) =>
  accounts.openSession(
    { ...asked, remoteIp: remoteIp(ctx, accounts.settings.trustedHops), userAgent: ctx.get('User-Agent') },
    calls,
  );

type Opened = Parameters<Accounts['sessionJwt']>[0];

const jwtToken = async ({ accounts }: Deps, opened: Opened): Promise<Static<typeof JwtToken>> => ({
  token: await accounts.sessionJwt(opened),
  expire: opened.expire.toISOString(),
});

/** The JWT of a session, in its cookie, too. */
export async function handOver(deps: Deps, ctx: Context, opened: Opened): Promise<Static<typeof JwtToken>> {
  const shown = await jwtToken(deps, opened);
  setCookie(ctx, deps, { token: shown.token, expire: opened.expire });
  return shown;
}

/** The session of a sign-in. `handOver` is next. */
export async function beginSession(deps: Deps, ctx: Context, userId: number, life: SessionLife, calls?: StoreCalls) {
  const session = await openSession(deps, ctx, { userId, life }, calls);
  if (typeof session === 'string') throw inside('a sign-in cannot have a parent session');
  note(ctx, { subject: `session/${session.id}`, changes: secrets('shown', 'jwt-token') });
  return session;
}

export const signIn = endpoint('POST auth/sign-in', {
  id: 'signIn',
  summary: 'Sign in',
  body: closed({
    email: Type.String({ minLength: 1, maxLength: 254, description: 'The e-mail address.' }),
    password: GivenPassword,
    'long-term-token': flag(true, 'Whether the JWT is valid for two weeks instead of three hours.'),
    'logout-other': flag(false, 'End all other sessions.'),
    'current-user': flag(false, 'Include the user in the answer.'),
    'ret-url': RetUrl,
  }),
  also: [401],
  description:
    'Returns a JWT and sets it as the cookie `jwt`; behind TLS also as `__Host-jwt`, which takes precedence. ' +
    'Attempts are limited by address, failed ones by account. With the cookie `known-browser`, failed attempts ' +
    'from elsewhere do not lock this browser out; it is not a credential. 403 if the operator has switched ' +
    'passwords off: `GET auth/sso` lists the ways to sign in.',
  answer: {
    description: 'Signed in.',
    schema: closed({
      'api-token': orNull(Type.String({ description: 'The oldest API token, if it can be shown.' })),
      'current-user': Type.Unsafe<Static<typeof ShownUser> | null>({ anyOf: [ShownUser, { type: 'null' }] }),
      email: Type.String(),
      'jwt-token': JwtToken,
      'oauth-provider-tokens': Type.Array(Type.Unknown()),
      'ret-url': orNull(Type.String()),
      status: Type.String(),
      'user-id': Type.Integer(),
    }),
    headers: {
      'Set-Cookie': {
        description: 'The cookies `jwt` (behind TLS `__Host-jwt`, too) and `known-browser`.',
        schema: Type.String(),
      },
    },
  },
  async work(deps, ctx, asked) {
    checkPasswords(deps.accounts.settings);
    const { user, mark } = await knownBy(deps, ctx, asked.email, asked.password);
    const session = await beginSession(deps, ctx, user.id, asked['long-term-token'] ? 'long' : 'short');
    if (asked['logout-other']) {
      await deps.store.endSessions(user.id, session.id);
      note(ctx, { changes: secrets('changed', 'other-sessions') });
    }
    const apiToken = await shownApiToken(deps, user.id);
    if (apiToken !== null) note(ctx, { changes: secrets('shown', 'api-token') });
    const jwtShown = await handOver(deps, ctx, session);
    setBrowserMark(ctx, deps, mark);
    return {
      'api-token': apiToken,
      'current-user': asked['current-user'] ? shownUser(user) : null,
      email: user.email,
      'jwt-token': jwtShown,
      'oauth-provider-tokens': [],
      'ret-url': safeRetUrl(asked['ret-url']),
      status: user.status,
      'user-id': user.id,
    };
  },
});

const REFUSED: Record<Extract<RedeemedLink, { refused: unknown }>['refused'], string> = {
  unknown: 'is not valid',
  used: 'was used before; a sign-in link works once',
  expired: 'has expired; a sign-in link works for an hour',
};

export const signInLink = endpoint('POST auth/sign-in/link', {
  id: 'signInByLink',
  summary: 'Sign in by a link',
  body: closed({
    code: Type.String({ minLength: 1, maxLength: 64, description: 'What stands behind # in the link.' }),
  }),
  description:
    'Takes the code of a sign-in link, which is valid once, for an hour. Those who may run a command in a pod of ' +
    'the API make such links for the first administrator. Attempts are limited by address. Returns a JWT, and ' +
    'sets it as a cookie like `auth/sign-in`.',
  answer: {
    description: 'Signed in.',
    schema: closed({
      email: Type.String(),
      'jwt-token': JwtToken,
      status: Type.String(),
      'user-id': Type.Integer(),
    }),
    headers: {
      'Set-Cookie': { description: 'The cookie `jwt`; behind TLS also `__Host-jwt`.', schema: Type.String() },
    },
  },
  async work(deps, ctx, { code }) {
    const { accounts, store } = deps;
    await accounts.attempts.take('code:address', { address: remoteIp(ctx, accounts.settings.trustedHops) });
    const redeemed = await store.redeemSignInLink(code);
    if ('refused' in redeemed)
      throw invalid('code', `${REFUSED[redeemed.refused]}. /docs/accounts#sign-in-links says how to make another one`);
    const user = await store.findUser(redeemed.userId, null);
    if (!user) throw inside('a sign-in link ends with its account');
    note(ctx, { actor: user });
    checkActive(user);
    const session = await beginSession(deps, ctx, user.id, 'long');
    const shown = await handOver(deps, ctx, session);
    return { email: user.email, 'jwt-token': shown, status: user.status, 'user-id': user.id };
  },
});

export const jwt = endpoint('POST auth/jwt', {
  id: 'makeJwt',
  summary: 'Create a JWT',
  body: closed({
    'long-term-token': flag(
      true,
      'Whether the JWT is valid for two weeks instead of three hours; never longer than the calling credential.',
    ),
  }),
  description:
    'It ends with the calling API token or session at the latest. JWTs and API tokens created with it end with it.',
  answer: { description: 'The JWT, with a session of its own.', schema: JwtToken },
  async work(deps, ctx, asked) {
    const caller = callerOf(ctx);
    const life = asked['long-term-token'] ? 'long' : 'short';
    const opened = await openSession(deps, ctx, { userId: caller.userId, life, within: caller });
    if (opened === 'too-deep')
      throw new ApiError('jwt-chain', { text: `a chain of JWTs that make JWTs has at most ${MOST_DEPTH} links` });
    if (opened === 'parent-ended') throw credentialEnded();
    const shown = await jwtToken(deps, opened);
    note(ctx, {
      subject: `session/${opened.id}`,
      changes: [{ field: 'expires', after: shown.expire }, ...secrets('shown', 'jwt-token')],
    });
    return shown;
  },
});

const UA_TYPES = ['browser', 'mobile', 'cli', 'other'] as const;

const Session = component('Session', {
  id: Type.String({ format: 'uuid' }),
  created: time(),
  expire: time(),
  'remote-ip': Type.String(),
  'ua-type': oneOf(UA_TYPES),
  'user-agent': Type.String(),
});

function uaType(userAgent: string): (typeof UA_TYPES)[number] {
  if (/Mobile|Android|iPhone|iPad/.test(userAgent)) return 'mobile';
  if (userAgent.startsWith('Mozilla/')) return 'browser';
  return /^(curl|Wget|HTTPie|python|Go-http|node|okhttp|axios)/i.test(userAgent) ? 'cli' : 'other';
}

export const sessions = endpoint('GET auth/session', {
  id: 'listSessions',
  summary: 'List your sessions',
  query: closed({ 'include-expired': flag(false, 'Include sessions that ended within 30 days.') }),
  answer: { description: 'Sessions, newest first.', schema: closed({ sessions: Type.Array(Session) }) },
  async work({ store }, ctx, asked) {
    const found = await store.listSessions(callerOf(ctx).userId, {
      includeExpired: asked['include-expired'],
    });
    return {
      sessions: found.map(({ id, createdAt, expiresAt, remoteIp: address, userAgent }) => ({
        id,
        created: createdAt.toISOString(),
        expire: expiresAt.toISOString(),
        'remote-ip': address,
        'ua-type': uaType(userAgent),
        'user-agent': userAgent,
      })),
    };
  },
});

/** All sessions of the caller, or this one of theirs, which may have ended before. */
const end = (deps: Deps, ctx: Context, sessionId: string | null, mayHaveEnded = true): Promise<void> =>
  withEntry(deps, ctx, async (store) => {
    const { userId } = callerOf(ctx);
    if (sessionId === null) await store.endSessions(userId);
    else if (!(await store.endSession(userId, sessionId)) && !mayHaveEnded) throw notFound();
    note(ctx, {
      subject: sessionId === null ? `user/${userId}` : `session/${sessionId}`,
      changes: secrets('changed', 'sessions'),
    });
  });

export const endSessions = endpoint('DELETE auth/session', {
  id: 'endSessions',
  summary: 'Log out everywhere',
  answer: { description: 'All sessions have ended, including the calling one.' },
  work: (deps, ctx) => end(deps, ctx, null),
});

export const endSession = endpoint('DELETE auth/session/:id', {
  id: 'endSession',
  summary: 'End a session',
  params: { id: Uuid },
  answer: { description: 'The session has ended.' },
  work: (deps, ctx) => end(deps, ctx, uuidOf(ctx), false),
});

export const signOut = endpoint('DELETE auth/sign-out', {
  id: 'signOut',
  summary: 'Sign out',
  query: closed({ 'logout-all': flag(false, 'End every session of the user.'), 'ret-url': RetUrl }),
  description: 'A call with an API token has no session to end, unless `logout-all` is set.',
  answer: {
    description: 'Signed out.',
    schema: closed({ success: Type.Literal(true), 'ret-url': orNull(Type.String()) }),
  },
  async work(deps, ctx, asked) {
    const { sessionId } = callerOf(ctx);
    if (asked['logout-all']) await end(deps, ctx, null);
    else if (sessionId !== null) await end(deps, ctx, sessionId);
    clearCookie(ctx, deps);
    return { success: true as const, 'ret-url': safeRetUrl(asked['ret-url']) };
  },
});
