/**
 * Authenticates the caller by the header, else `token`, else `jwt` in the query, else the cookie `__Host-jwt`, else the
 * cookie `jwt`. The first one present decides; an invalid one never falls through. The query is scanned unparsed: parse
 * errors are reported to authenticated callers only.
 */
import type { TLSSocket } from 'node:tls';
import { callerOfToken, type Caller } from '../../accounts/caller.ts';
import { tokenChecksum } from '../../accounts/token_text.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { isToken, tokenSha256 } from '../../../platform/store/token_text.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { type Context, type Handler, remoteIp } from './request_context.ts';
import { BASE, type CredentialKind } from './endpoint_access.ts';
import { KNOWN_MS } from '../../accounts/known_browsers.ts';

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const COOKIE = 'jwt';
/** Browsers accept this cookie only from this host, over TLS. */
const HOST_COOKIE = '__Host-jwt';

interface Credential {
  kind: CredentialKind;
  value: string;
  from: 'header' | 'query' | 'cookie';
}

const IS: Record<CredentialKind, (text: string) => boolean> = { token: isToken, jwt: (text) => JWT.test(text) };

const WANTED: Record<CredentialKind, string> = {
  token: 'authentication required: send an API token as Authorization: Bearer <token> or as the query parameter token',
  jwt:
    'authentication required: send an API token or a JWT as Authorization: Bearer <credential>, as the query ' +
    'parameter token or jwt, or as the cookie jwt',
};

const bad = () => new ApiError('bad-credential');

/** A token alone, and curl --user, are the commonest mistakes. What was sent is not repeated: it may be a secret. */
function badScheme(header: string): ApiError {
  const what = /^Basic(?: |$)/i.test(header) ? 'Basic is not accepted' : 'the scheme Bearer is missing';
  return new ApiError('bad-credential', { text: `Authorization: ${what}; send Authorization: Bearer <token>` });
}

/** A repeated one is rejected as ambiguous. */
const only = (given: readonly string[], name: string): string | undefined =>
  given.length > 1 ? '' : given[0]?.slice(name.length + 1);

export const queryValue = (querystring: string, name: string): string | undefined =>
  only(
    querystring.split('&').filter((part) => part === name || part.startsWith(`${name}=`)),
    name,
  );

/** Two cookies of one name come from different hosts or paths: it is impossible to tell which is ours. */
const cookieValue = (header: string, name: string): string | undefined =>
  only(
    header
      .split(';')
      .map((part) => part.trim())
      .filter((part) => part.startsWith(`${name}=`)),
    name,
  );

function credentialIn(ctx: Pick<Context, 'get' | 'querystring'>, kinds: readonly CredentialKind[]): Credential | null {
  const header = ctx.get('Authorization');
  if (header !== '') {
    if (!/^Bearer(?: |$)/i.test(header)) throw badScheme(header);
    const value = /^Bearer +([^ ]+) *$/i.exec(header)?.[1] ?? '';
    const kind = kinds.find((one) => IS[one](value));
    if (!kind) throw bad();
    return { kind, value, from: 'header' };
  }
  for (const kind of kinds) {
    const value = queryValue(ctx.querystring, kind);
    if (value === undefined) continue;
    if (!IS[kind](value)) throw bad();
    return { kind, value, from: 'query' };
  }
  if (!kinds.includes('jwt')) return null;
  const cookie = cookieValue(ctx.get('Cookie'), HOST_COOKIE) ?? cookieValue(ctx.get('Cookie'), COOKIE);
  if (cookie === undefined) return null;
  if (!IS.jwt(cookie)) throw bad();
  return { kind: 'jwt', value: cookie, from: 'cookie' };
}

type Parts = Pick<Deps, 'tokens' | 'store' | 'accounts'>;

async function liveToken({ tokens, store, accounts }: Parts, ctx: Context, text: string): Promise<TokenRecord> {
  const { trustedHops, boxKeys } = accounts.settings;
  const record = await tokens.get(tokenSha256(text), remoteIp(ctx, trustedHops), () => tokenChecksum(text, boxKeys()));
  if (!record) throw bad();
  if (record.expiresAt === null || record.expiresAt.getTime() > store.clock.now()) return record;
  // The logs name its user.
  ctx.state.caller = callerOfToken(record);
  throw bad();
}

async function callerOfJwt({ accounts }: Parts, text: string): Promise<Caller> {
  const caller = await accounts.callerOfJwt(text);
  if (!caller) throw bad();
  return caller;
}

/** Sets `ctx.state.caller`, and `ctx.state.token` for an API token. */
export const makeAuthenticate = (deps: Parts, kinds: readonly CredentialKind[]): Handler =>
  async function authenticate(ctx, next) {
    const credential = credentialIn(ctx, kinds);
    if (!credential) throw new ApiError('no-credential', { text: WANTED[kinds.includes('jwt') ? 'jwt' : 'token'] });
    if (credential.kind === 'token') ctx.state.token = await liveToken(deps, ctx, credential.value);
    const caller = ctx.state.token ? callerOfToken(ctx.state.token) : await callerOfJwt(deps, credential.value);
    // Set before the check: the rate limit counts refused calls too, and the access log names their caller.
    ctx.state.caller = caller;
    ctx.state.byCookie = credential.from === 'cookie';
    if (caller.userStatus !== 'active')
      throw new ApiError('account-inactive', { text: `the account is ${caller.userStatus}` });
    return next();
  };

// The cookie `jwt`: not readable by scripts, not sent by other sites, and with TLS sent only over TLS.
// With TLS it is also set as `__Host-jwt`, which no other host of the domain can set.

const behindTls = (ctx: Context, { accounts }: Pick<Deps, 'accounts'>): boolean =>
  accounts.settings.publicUrl.startsWith('https:') ||
  (ctx.req.socket as Partial<TLSSocket>).encrypted === true ||
  ctx.get('X-Forwarded-Proto').split(',')[0]!.trim() === 'https';

/** The mark of a known browser: sent only to the account endpoints, and never from another site. */
const BROWSER = 'known-browser';
const BROWSER_PATH = `${BASE}/auth`;

function setOne(ctx: Context, deps: Pick<Deps, 'accounts'>, cookie: string, sameSite: 'Strict' | 'Lax'): void {
  ctx.append('Set-Cookie', `${cookie}; HttpOnly; SameSite=${sameSite}${behindTls(ctx, deps) ? '; Secure' : ''}`);
}

export const browserMark = (ctx: Pick<Context, 'cookies'>): string | undefined => ctx.cookies.get(BROWSER);

export function setBrowserMark(ctx: Context, deps: Pick<Deps, 'accounts'>, mark: string): void {
  setOne(ctx, deps, `${BROWSER}=${mark}; Path=${BROWSER_PATH}; Max-Age=${KNOWN_MS / 1000}`, 'Strict');
}

/**
 * What a browser keeps while its person is at an issuer. They come back by a link of that site, so it is Lax, and of
 * this host alone where there is TLS: another one of the domain cannot begin a sign-in in its place.
 */
const flowName = (ctx: Context, deps: Pick<Deps, 'accounts'>): string => `${behindTls(ctx, deps) ? '__Host-' : ''}sso`;

export const flowCookie = (ctx: Context, deps: Pick<Deps, 'accounts'>): string | undefined =>
  cookieValue(ctx.get('Cookie'), flowName(ctx, deps));

/** `ageMs` 0: it is taken away. */
export function setFlowCookie(ctx: Context, deps: Pick<Deps, 'accounts'>, value: string, ageMs: number): void {
  setOne(ctx, deps, `${flowName(ctx, deps)}=${value}; Path=/; Max-Age=${ageMs / 1000}`, 'Lax');
}

export function setCookie(
  ctx: Context,
  deps: Pick<Deps, 'accounts'>,
  { token, expire }: { token: string; expire: Date },
): void {
  for (const name of behindTls(ctx, deps) ? [COOKIE, HOST_COOKIE] : [COOKIE])
    setOne(ctx, deps, `${name}=${token}; Path=/; Expires=${expire.toUTCString()}`, 'Lax');
}

export const clearCookie = (ctx: Context, deps: Pick<Deps, 'accounts'>): void =>
  setCookie(ctx, deps, { token: '', expire: new Date(0) });
