/**
 * Who asks: the header, else `token`, else `jwt` in the query, else the cookie `__Host-jwt`, else the cookie `jwt`. The
 * first present decides; a bad one never falls through. The queries are looked at as they were sent: one that cannot be
 * read is told to known callers only.
 */
import { createHash } from 'node:crypto';
import { callerOfToken, type Caller } from '../../accounts/caller.ts';
import { type Context, type Handler, remoteIp } from './context.ts';
import type { Deps } from '../deps.ts';
import { forbidden, unauthorized } from '../errors.ts';

const TOKEN = /^[A-Za-z0-9]{64}$/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
export const COOKIE = 'jwt';
/** A browser takes it from this host alone, over TLS. */
export const HOST_COOKIE = '__Host-jwt';

export interface Credential {
  kind: 'token' | 'jwt';
  value: string;
  from: 'header' | 'query' | 'cookie';
}

const bad = () => unauthorized('bad-credential', 'the credential is not valid or has expired');

/** Given twice it is none: which one would decide? */
function queryValue(querystring: string, name: string): string | undefined {
  const given = querystring.split('&').filter((part) => part === name || part.startsWith(`${name}=`));
  if (given.length === 0) return undefined;
  return given.length === 1 ? given[0]!.slice(name.length + 1) : '';
}

/** Two cookies of one name come from two hosts or paths: which of them is ours cannot be told, so neither counts. */
function cookieValue(header: string, name: string): string | undefined {
  const given = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  if (given.length === 0) return undefined;
  return given.length === 1 ? given[0]!.slice(name.length + 1) : '';
}

function credentialIn(ctx: Pick<Context, 'get' | 'querystring'>): Credential | null {
  const header = ctx.get('Authorization');
  if (header !== '') {
    const value = /^Bearer +([^ ]+) *$/i.exec(header)?.[1] ?? '';
    if (TOKEN.test(value)) return { kind: 'token', value, from: 'header' };
    if (JWT.test(value)) return { kind: 'jwt', value, from: 'header' };
    throw bad();
  }
  for (const [kind, pattern] of [
    ['token', TOKEN],
    ['jwt', JWT],
  ] as const) {
    const value = queryValue(ctx.querystring, kind);
    if (value === undefined) continue;
    if (!pattern.test(value)) throw bad();
    return { kind, value, from: 'query' };
  }
  const cookie = cookieValue(ctx.get('Cookie'), HOST_COOKIE) ?? cookieValue(ctx.get('Cookie'), COOKIE);
  if (cookie === undefined) return null;
  if (!JWT.test(cookie)) throw bad();
  return { kind: 'jwt', value: cookie, from: 'cookie' };
}

async function callerBy(
  deps: Pick<Deps, 'tokens' | 'store' | 'accounts'>,
  ctx: Context,
  { kind, value }: Credential,
): Promise<Caller> {
  if (kind === 'jwt') {
    const caller = await deps.accounts.callerOfJwt(value);
    if (!caller) throw bad();
    return caller;
  }
  const record = await deps.tokens.get(
    createHash('sha256').update(value).digest(),
    remoteIp(ctx, deps.accounts.settings.trustedHops),
  );
  if (!record || (record.expiresAt !== null && record.expiresAt.getTime() <= deps.store.clock.now())) throw bad();
  return callerOfToken(record);
}

export const authenticate = (deps: Pick<Deps, 'tokens' | 'store' | 'accounts'>): Handler =>
  async function findCaller(ctx, next) {
    const credential = credentialIn(ctx);
    if (!credential)
      throw unauthorized(
        'no-credential',
        'a credential is needed: an API token or a JWT, as Authorization: Bearer, as the query parameter token or jwt, or as the cookie jwt',
      );
    const caller = await callerBy(deps, ctx, credential);
    if (caller.status !== 'active') throw forbidden('account-inactive', `the account is ${caller.status}`);
    ctx.state.caller = caller;
    ctx.state.byCookie = credential.from === 'cookie';
    return next();
  };
