/**
 * `POST auth/sign-in`: a JWT for a password. A wrong password and an unknown address get the same response, in equal
 * time. `POST auth/sign-in/link`: a JWT for the code of a sign-in link.
 */
import Type, { type Static } from 'typebox';
import type { Accounts } from '../../accounts/accounts.ts';
import { TooManyAttempts, type Account } from '../../accounts/attempts.ts';
import type { RedeemedLink } from '../../../platform/store/account_codes.ts';
import type { UserRecord } from '../../../platform/store/users.ts';
import { type Context, remoteIp } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, invalid } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { GivenPassword, RetUrl, safeRetUrl, ShownUser, shownUser } from './account_fields.ts';
import { checkedBy } from '../http/read_input.ts';
import { closed, flag, orNull } from '../http/request_fields.ts';
import { browserMark, setBrowserMark, setCookie } from '../http/authenticate.ts';

const Body = closed({
  email: Type.String({ minLength: 1, maxLength: 254, description: 'The e-mail address.' }),
  password: GivenPassword,
  'long-term-token': flag(true, 'Whether the JWT is valid for two weeks instead of three hours.'),
  'logout-other': flag(false, 'End all other sessions.'),
  'current-user': flag(false, 'Include the user in the answer.'),
  'ret-url': RetUrl,
});
export const JwtToken = closed({ token: Type.String(), expire: Type.String({ format: 'date-time' }) });
const Answer = closed({
  'api-token': orNull(Type.String({ description: 'The oldest API token, if it can be shown.' })),
  'current-user': Type.Unsafe<Static<typeof ShownUser> | null>({ anyOf: [ShownUser, { type: 'null' }] }),
  email: Type.String(),
  'jwt-token': JwtToken,
  'oauth-provider-tokens': Type.Array(Type.Unknown()),
  'ret-url': orNull(Type.String()),
  status: Type.String(),
  'user-id': Type.Integer(),
});

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

function checkActive(user: UserRecord): void {
  const status = user.aboveSuspended ? 'suspended' : user.status;
  if (status !== 'active') throw new ApiError('account-inactive', { text: `the account is ${status}` });
}

interface SignedIn {
  user: UserRecord;
  mark: string;
}

/** The owner of the password, with a mark for the browser. */
async function knownBy({ accounts, store }: Deps, ctx: Context, email: string, password: string): Promise<SignedIn> {
  const { knownBrowsers, passwords, settings } = accounts;
  const found = await store.findByEmail(email);
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
  return token?.sealed ? accounts.box.open(token.sealed, 'token', token.id) : null;
}

/** Opens a session and sets its cookie. */
async function begin(deps: Deps, ctx: Context, userId: number, long: boolean) {
  const { accounts } = deps;
  const session = await accounts.openSession({
    userId,
    long,
    remoteIp: remoteIp(ctx, accounts.settings.trustedHops),
    userAgent: ctx.get('User-Agent'),
  });
  if (typeof session === 'string') throw inside('a sign-in cannot have a parent session');
  setCookie(ctx, deps, session);
  return { id: session.id, jwt: { token: session.token, expire: session.expire.toISOString() } };
}

async function signInByPassword(deps: Deps, ctx: Context): Promise<void> {
  const asked = checkedBy(Body, ctx);
  const { user, mark } = await knownBy(deps, ctx, asked.email, asked.password);
  const session = await begin(deps, ctx, user.id, asked['long-term-token']);
  if (asked['logout-other']) await deps.store.endSessions(user.id, session.id);
  setBrowserMark(ctx, deps, mark);
  ctx.body = {
    'api-token': await shownApiToken(deps, user.id),
    'current-user': asked['current-user'] ? shownUser(user) : null,
    email: user.email,
    'jwt-token': session.jwt,
    'oauth-provider-tokens': [],
    'ret-url': safeRetUrl(asked['ret-url']),
    status: user.status,
    'user-id': user.id,
  };
}

export const signIn = endpoint(
  'POST auth/sign-in',
  {
    id: 'signIn',
    summary: 'Sign in',
    body: Body,
    also: [401],
    description:
      'Returns a JWT and sets it as the cookie `jwt`; behind TLS also as `__Host-jwt`, which takes precedence. ' +
      'Attempts are limited by address, failed ones by account. With the cookie `known-browser`, failed attempts ' +
      'from elsewhere do not lock this browser out; it is not a credential.',
    answer: {
      description: 'Signed in.',
      schema: Answer,
      headers: {
        'Set-Cookie': {
          description: 'The cookies `jwt` (behind TLS `__Host-jwt`, too) and `known-browser`.',
          schema: Type.String(),
        },
      },
    },
  },
  signInByPassword,
);

const LinkBody = closed({
  code: Type.String({ minLength: 1, maxLength: 64, description: 'What stands behind # in the link.' }),
});

const LinkAnswer = closed({
  email: Type.String(),
  'jwt-token': JwtToken,
  status: Type.String(),
  'user-id': Type.Integer(),
});

const REFUSED: Record<Extract<RedeemedLink, { refused: unknown }>['refused'], string> = {
  unknown: 'is not valid',
  used: 'was used before; a sign-in link works once',
  expired: 'has expired; a sign-in link works for an hour',
};

async function signInByLink(deps: Deps, ctx: Context): Promise<void> {
  const { accounts, store } = deps;
  const { code } = checkedBy(LinkBody, ctx);
  await accounts.attempts.take('code:address', { address: remoteIp(ctx, accounts.settings.trustedHops) });
  const redeemed = await store.redeemSignInLink(code);
  if ('refused' in redeemed)
    throw invalid('code', `${REFUSED[redeemed.refused]}. /docs/accounts#sign-in-links says how to make another one`);
  const user = await store.findUser(redeemed.userId, null);
  if (!user) throw inside('a sign-in link ends with its account');
  checkActive(user);
  const { jwt } = await begin(deps, ctx, user.id, true);
  ctx.body = { email: user.email, 'jwt-token': jwt, status: user.status, 'user-id': user.id };
}

export const signInLink = endpoint(
  'POST auth/sign-in/link',
  {
    id: 'signInByLink',
    summary: 'Sign in by a link',
    body: LinkBody,
    description:
      'Takes the code of a sign-in link, which is valid once, for an hour. Those who may run a command in a pod of ' +
      'the API make such links for the first administrator. Attempts are limited by address. Returns a JWT, and ' +
      'sets it as a cookie like `auth/sign-in`.',
    answer: {
      description: 'Signed in.',
      schema: LinkAnswer,
      headers: {
        'Set-Cookie': { description: 'The cookie `jwt`; behind TLS also `__Host-jwt`.', schema: Type.String() },
      },
    },
  },
  signInByLink,
);
