/**
 * Clients of MCP that sign people in themselves (RFC 9728): what they are told, and the access tokens that they then
 * send. For one of somebody who is known here, the call goes on with an API token of theirs, which this replica keeps.
 */
import { createRemoteJWKSet, customFetch, decodeJwt, errors, jwtVerify } from 'jose';
import Type from 'typebox';
import { checkActive } from '../accounts/session_endpoints.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, notFound } from '../errors.ts';
import { endpoint, type Described } from '../http/endpoint.ts';
import type { Handler } from '../http/request_context.ts';
import { component } from '../http/request_fields.ts';
import { CLOCK_SKEW_S, type Issuer, type Issuers } from './issuers.ts';
import { makeProgramToken } from './let_in.ts';

const PATH = '/mcp';
const METADATA_PATH = '/.well-known/oauth-protected-resource';

const accepting = (issuers: Issuers): Issuer[] =>
  [...issuers.values()].filter(({ settings }) => settings.audience !== '');

const Metadata = component('ProtectedResource', {
  resource: Type.String({ description: 'The address of MCP.' }),
  resource_name: Type.String(),
  authorization_servers: Type.Array(Type.String(), { description: 'Issuers of access tokens.' }),
  bearer_methods_supported: Type.Array(Type.String()),
});

function describeResource({ issuers, accounts, settings }: Deps) {
  const servers = settings.mcpAnswerMs === null ? [] : accepting(issuers);
  if (servers.length === 0) throw notFound();
  return {
    resource: `${accounts.settings.publicUrl}${PATH}`,
    resource_name: 'Probeyard',
    authorization_servers: servers.map((issuer) => issuer.settings.issuer),
    bearer_methods_supported: ['header'],
  };
}

const DESCRIBED = {
  summary: 'Read by whom clients of MCP sign people in',
  description: 'The metadata of a protected resource (RFC 9728).',
  answer: { description: 'The issuers whose access tokens `/mcp` accepts.', schema: Metadata },
  errors: { 404: 'No issuer has an audience for access tokens.' },
} as const satisfies Partial<Described>;

export const resource = endpoint('GET /.well-known/oauth-protected-resource', {
  ...DESCRIBED,
  id: 'readProtectedResource',
  work: describeResource,
});
/** Where RFC 9728 has it for a resource that has a path. */
export const resourceOfPath = endpoint('GET /.well-known/oauth-protected-resource/mcp', {
  ...DESCRIBED,
  id: 'readProtectedResourceOfMcp',
  work: describeResource,
});

/** By issuer: jose reads keys anew for one that it does not know, twice a minute at most. */
const keys = new WeakMap<Issuer, ReturnType<typeof createRemoteJWKSet>>();

async function keysOf(issuer: Issuer): Promise<ReturnType<typeof createRemoteJWKSet>> {
  const known = keys.get(issuer);
  if (known) return known;
  const { jwks_uri: address } = await issuer.metadata();
  if (address === undefined) throw inside(`${issuer.settings.name} names no keys`);
  const made = createRemoteJWKSet(new URL(address), { [customFetch]: issuer.fetch });
  keys.set(issuer, made);
  return made;
}

/** Not of the token: its keys could not be read. */
const AWAY = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT'];

/** Without the difference between `https://id.example` and the same with a slash. */
const addressOf = (issuer: string | undefined): string | undefined =>
  issuer !== undefined && URL.canParse(issuer) ? new URL(issuer).href : undefined;

/** Throws for a token that no issuer made for this resource, and for one that has expired. */
async function claimsIn(jwt: string, issuers: readonly Issuer[]) {
  const bad = (detail: string): ApiError => new ApiError('bad-credential', { detail });
  try {
    const { iss } = decodeJwt(jwt);
    // By its setting: nothing is asked of an issuer for tokens that do not name it.
    const issuer = issuers.find(({ settings }) => addressOf(settings.issuer) === addressOf(iss));
    if (!issuer) throw bad('an access token of another issuer');
    const server = await issuer.metadata();
    const { payload } = await jwtVerify(jwt, await keysOf(issuer), {
      issuer: server.issuer,
      audience: issuer.settings.audience,
      clockTolerance: CLOCK_SKEW_S,
      requiredClaims: ['sub', 'exp'],
    });
    return { issuer: server.issuer, subject: payload.sub! };
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof errors.JOSEError && !AWAY.includes(error.code)) throw bad(error.code);
    const detail = error instanceof Error ? error.message : '';
    throw new ApiError('unavailable', { reason: 'issuer', detail, retryAfterS: 5 });
  }
}

/** An access token lasts about as long. */
const HELD_MS = 3_600_000;
const MOST_HELD = 10_000;
/** A call may take this long after it was let in. */
const MARGIN_MS = 300_000;

async function makeHeld(deps: Deps, userId: number) {
  const user = await deps.store.findUser(userId);
  if (!user) throw inside('a user was deleted while they called');
  checkActive(user);
  const { token, expiresAt } = await makeProgramToken(deps, deps.store, user, 'MCP by single sign-on', HELD_MS);
  return { text: token, until: expiresAt.getTime() - MARGIN_MS };
}

const ACCESS_TOKEN = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i;

/** Nothing where no issuer has an audience. */
export function acceptAccessTokens(deps: Deps): Handler[] {
  const issuers = accepting(deps.issuers);
  if (issuers.length === 0) return [];
  const challenge = `Bearer resource_metadata="${deps.accounts.settings.publicUrl}${METADATA_PATH}${PATH}"`;
  const held = new Map<number, ReturnType<typeof makeHeld>>();

  async function heldBy(userId: number) {
    const known = await held.get(userId)?.catch(() => undefined);
    if (known && known.until > deps.store.clock.now()) return known;
    if (held.size >= MOST_HELD) held.clear();
    const made = makeHeld(deps, userId);
    held.set(userId, made);
    return made;
  }

  return [
    async function acceptAccessToken(ctx, next) {
      if (ctx.path !== PATH) return next();
      let userId: number | null = null;
      try {
        const jwt = ACCESS_TOKEN.exec(ctx.get('Authorization'))?.[1];
        if (jwt !== undefined) {
          userId = await deps.store.findIdentity(await claimsIn(jwt, issuers));
          if (userId === null)
            throw new ApiError('sso-refused', { text: 'you have no account here yet; sign in to the console once' });
          ctx.req.headers.authorization = `Bearer ${(await heldBy(userId)).text}`;
        }
        await next();
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) {
          error.headers['WWW-Authenticate'] = challenge;
          // Revoked in the meantime.
          if (userId !== null) held.delete(userId);
        }
        throw error;
      }
    },
  ];
}
