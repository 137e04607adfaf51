/**
 * What an issuer of single sign-on (OpenID Connect) is asked: where to send people, who has come back, and the same for
 * a program without a browser. openid-client checks what it answers: state, the `iss` parameter, nonce, and signature,
 * issuer, audience and times of the ID token.
 */
import * as oidc from 'openid-client';
import type { IssuerSettings } from '../../../base/issuer_settings.ts';
import type { Logger } from '../../../base/log.ts';
import type { AccountSettings } from '../../accounts/settings.ts';
import { ApiError } from '../errors.ts';
import { BASE } from '../http/endpoint_access.ts';
import type { IssuerFetch } from './issuer_fetch.ts';
import { personOf, type Person } from './person.ts';

/** Of a person who is sent to an issuer. */
export interface Flow {
  state: string;
  nonce: string;
  verifier: string;
}

export type Issuer = ReturnType<typeof makeIssuer>;

export const CLOCK_SKEW_S = 60;
const TIMEOUT_S = 10;
/** How long what an issuer says of itself holds. Its keys are read at each sign-in, so a new one is known at once. */
const METADATA_MS = 600_000;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** What people are told of errors of the protocol. Whoever comes back may have made up the code. */
const SAID = new Map([
  ['access_denied', 'access was denied there'],
  ['expired_token', 'the code has expired; start again'],
  ['invalid_grant', 'the sign-in was used before, or has expired; start again'],
  ['server_error', 'it has a fault; try again later'],
  ['temporarily_unavailable', 'it is not available; try again later'],
]);

/** Faults of the issuer or on the way to it, in contrast to what it was sent. */
const AWAY = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

const away = (name: string, detail: string): ApiError =>
  new ApiError('unavailable', { text: `${name} cannot be reached; try again later`, reason: 'issuer', detail });

/** As the caller is told it. Codes and texts of the package are logged; what was sent and answered is not. */
function failureOf(name: string, log: Logger, error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  const detail = [error, cause].flatMap((one) => (one instanceof Error ? [one.message] : [])).join(': ');
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'an error';
    log.warn({ issuer: name, code }, 'sign-in refused by the issuer');
    const said = SAID.get(code) ?? `it refused the sign-in (${code})`;
    return new ApiError('sso-failed', { text: `${name}: ${said}`, detail });
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    log.warn({ issuer: name, detail }, 'the issuer does not accept the client or its secret');
    return new ApiError('sso-failed', { text: `${name} does not know this installation; tell its operator`, detail });
  }
  if (!(error instanceof oidc.ClientError)) return error;
  log.warn({ issuer: name, code: error.code, detail }, 'sign-in failed');
  // Without a code: what the connection failed with.
  if (error.code === undefined || AWAY.includes(error.code)) return away(name, detail);
  return new ApiError('sso-failed', { text: `${name}: its answer cannot be accepted; start again`, detail });
}

interface IssuerParts {
  settings: IssuerSettings;
  secret(): string;
  redirectUri: string;
  fetch: IssuerFetch;
  log: Logger;
}

/** Some issuers know one way alone; if both, the one that needs no encoding of the secret. */
function authOf(server: oidc.ServerMetadata, secret: string): oidc.ClientAuth {
  const ways = server.token_endpoint_auth_methods_supported;
  return ways === undefined || ways.includes('client_secret_post')
    ? oidc.ClientSecretPost(secret)
    : oidc.ClientSecretBasic(secret);
}

function makeClient({ settings, secret, fetch }: IssuerParts) {
  const { clientId } = settings;
  let known: { server: Promise<oidc.ServerMetadata>; at: number } | undefined;
  function metadata(): Promise<oidc.ServerMetadata> {
    if (known && performance.now() - known.at < METADATA_MS) return known.server;
    const server = oidc
      .discovery(new URL(settings.issuer), clientId, undefined, oidc.None(), {
        [oidc.customFetch]: fetch,
        timeout: TIMEOUT_S,
      })
      .then((found): oidc.ServerMetadata => found.serverMetadata());
    known = { server, at: performance.now() };
    server.catch(() => {
      if (known?.server === server) known = undefined;
    });
    return server;
  }
  return {
    metadata,
    /** A new one for each use: the package keeps keys with it. */
    async configuration(): Promise<oidc.Configuration> {
      const server = await metadata();
      const auth = settings.hasSecret ? authOf(server, secret()) : oidc.None();
      const configuration = new oidc.Configuration(server, clientId, { [oidc.clockTolerance]: CLOCK_SKEW_S }, auth);
      configuration[oidc.customFetch] = fetch;
      configuration.timeout = TIMEOUT_S;
      oidc.enableNonRepudiationChecks(configuration);
      return configuration;
    },
  };
}

type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;

async function personIn(configuration: oidc.Configuration, tokens: Tokens, settings: IssuerSettings): Promise<Person> {
  const claims = tokens.claims();
  const person = claims && personOf(claims, settings.claims);
  if (!claims || !person)
    throw new ApiError('sso-failed', { text: `${settings.name} does not say who you are; tell its operator` });
  const isWhole = person.email !== null && person.groups !== null;
  if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return person;
  // Some issuers keep ID tokens short.
  const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
  return personOf({ ...more, ...claims }, settings.claims) ?? person;
}

const isWaiting = (error: unknown): error is oidc.ResponseBodyError =>
  error instanceof oidc.ResponseBodyError && ['authorization_pending', 'slow_down'].includes(error.error);

function makeIssuer(parts: IssuerParts) {
  const { settings, redirectUri, fetch, log } = parts;
  const { metadata, configuration } = makeClient(parts);
  const scope = [...new Set(['openid', ...settings.scopes])].join(' ');
  async function asking<T>(work: (client: oidc.Configuration) => Promise<T>): Promise<T> {
    try {
      return await work(await configuration());
    } catch (error) {
      throw failureOf(settings.name, log, error);
    }
  }
  return {
    settings,
    fetch,
    metadata,
    /** `chooseAccount`: also of a person who is signed in there. */
    begin: (chooseAccount: boolean) =>
      asking(async (client) => {
        const flow = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
        const url = oidc.buildAuthorizationUrl(client, {
          redirect_uri: redirectUri,
          scope,
          state: flow.state,
          nonce: flow.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
          code_challenge_method: 'S256',
          ...(chooseAccount ? { prompt: 'select_account' } : {}),
        });
        return { url: url.href, flow };
      }),
    /** `query`: what the person came back with. */
    redeem: (query: string, { state, nonce, verifier }: Flow) =>
      asking(async (client) => {
        const tokens = await oidc.authorizationCodeGrant(client, new URL(`${redirectUri}?${query}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return personIn(client, tokens, settings);
      }),
    /** For a program that waits until somebody enters its code at the issuer. */
    beginDevice: () =>
      asking(async (client) => {
        if (client.serverMetadata().device_authorization_endpoint === undefined)
          throw new ApiError('sso-failed', {
            text: `${settings.name} signs in no programs; make a token in the console, and run probeyard login`,
          });
        return oidc.initiateDeviceAuthorization(client, { scope });
      }),
    /** `slow-down`: to be asked five seconds later from now on. */
    redeemDevice: (deviceCode: string) =>
      asking(async (client): Promise<Person | 'pending' | 'slow-down'> => {
        try {
          const tokens = await oidc.genericGrantRequest(client, DEVICE_GRANT, { device_code: deviceCode });
          return await personIn(client, tokens, settings);
        } catch (error) {
          if (!isWaiting(error)) throw error;
          return error.error === 'slow_down' ? 'slow-down' : 'pending';
        }
      }),
  };
}

/** Where an issuer sends people back to. Each has an address of its own, so that none can answer for another. */
const redirectUriOf = (publicUrl: string, name: string): string => `${publicUrl}${BASE}/auth/sso/${name}/callback`;

export type Issuers = ReadonlyMap<string, Issuer>;

export const makeIssuers = (
  { issuers, issuerSecret, publicUrl }: Pick<AccountSettings, 'issuers' | 'issuerSecret' | 'publicUrl'>,
  { fetch, log }: Pick<IssuerParts, 'fetch' | 'log'>,
): Issuers =>
  new Map(
    issuers.map((settings) => {
      const { name } = settings;
      const own = { secret: () => issuerSecret(name), redirectUri: redirectUriOf(publicUrl, name) };
      return [name, makeIssuer({ settings, fetch, log, ...own })];
    }),
  );
