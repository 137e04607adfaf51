/**
 * Authenticates the caller by the header, else `token`, else `jwt` in the query, else the cookie `__Host-jwt`, else the
 * cookie `jwt`. The first one present decides; an invalid one never falls through. The query is scanned unparsed: parse
 * errors are reported to authenticated callers only.
 */
import { callerOfToken, type Caller } from '../../accounts/caller.ts';
import { tokenChecksum } from '../../accounts/token_text.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { isToken, tokenSha256 } from '../../../platform/store/token_text.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { remoteIp, type Context, type Handler } from './context.ts';
import type { CredentialKind } from './side.ts';

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
export const COOKIE = 'jwt';
/** Browsers accept this cookie only from this host, over TLS. */
export const HOST_COOKIE = '__Host-jwt';

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

/** A repeated parameter is rejected as ambiguous. */
function queryValue(querystring: string, name: string): string | undefined {
  const given = querystring.split('&').filter((part) => part === name || part.startsWith(`${name}=`));
  if (given.length === 0) return undefined;
  return given.length === 1 ? given[0]!.slice(name.length + 1) : '';
}

/**
 * Two cookies of one name come from different hosts or paths. It is impossible to tell which is ours, so both are
 * rejected.
 */
function cookieValue(header: string, name: string): string | undefined {
  const given = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  if (given.length === 0) return undefined;
  return given.length === 1 ? given[0]!.slice(name.length + 1) : '';
}

function credentialIn(ctx: Pick<Context, 'get' | 'querystring'>, kinds: readonly CredentialKind[]): Credential | null {
  const header = ctx.get('Authorization');
  if (header !== '') {
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
  if (!record || (record.expiresAt !== null && record.expiresAt.getTime() <= store.clock.now())) throw bad();
  return record;
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
    if (caller.status !== 'active') throw new ApiError('account-inactive', { text: `the account is ${caller.status}` });
    return next();
  };
