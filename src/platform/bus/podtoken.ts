/**
 * Verifies the projected token of a pod that connects to NATS: signed by this cluster, for NATS, for a pod with the
 * service account of runners.
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import { CodedError } from '../../base/coded_error.ts';

const AUDIENCE = 'probeyard-nats';

class PodTokenError extends CodedError<
  | 'token-malformed'
  | 'token-expired'
  | 'token-early'
  | 'token-signature'
  | 'token-audience'
  | 'token-issuer'
  | 'token-unbound'
  | 'token-namespace'
  | 'token-account'
  | 'keys-unavailable'
> {}

export interface PodTokenSettings {
  /** The API server's /openid/v1/jwks. */
  jwks: () => Promise<JSONWebKeySet>;
  issuer: () => Promise<string>;
  namespace: string;
  serviceAccount: string;
}

export interface PodName {
  uid: string;
  pod: string;
}

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'EdDSA'];
/**
 * Tolerates clock skew: the API server dates a token by its clock, and it is verified by ours. With less, a controller
 * whose clock is a minute behind refuses every new pod.
 */
const SKEW_SECONDS = 90;
/**
 * Bounds requests to the API server, against a flood of tokens with invented key ids. It follows the wall clock: set
 * back by an hour, keys that were rotated since are unknown for that hour.
 */
const FETCH_AGAIN_MS = 10_000;

interface Bound {
  namespace?: unknown;
  pod?: { name?: unknown; uid?: unknown };
  serviceaccount?: { name?: unknown };
}

export function podTokenVerifier(settings: PodTokenSettings): (token: string) => Promise<PodName> {
  const keys = cachedKeys(settings.jwks);
  let issuer: Promise<string> | undefined;

  const knownIssuer = () => {
    issuer ??= settings.issuer().catch((error: unknown) => {
      issuer = undefined;
      throw new PodTokenError('keys-unavailable', 'cannot load the issuer of the cluster', { cause: error });
    });
    return issuer;
  };

  return async (token) => {
    const { payload } = await jwtVerify(token, keys, {
      audience: AUDIENCE,
      issuer: await knownIssuer(),
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'sub'],
      clockTolerance: SKEW_SECONDS,
    }).catch((error: unknown) => {
      throw asPodTokenError(error);
    });
    return boundPod(payload, settings);
  };
}

function boundPod(payload: JWTPayload, { namespace, serviceAccount }: PodTokenSettings): PodName {
  const bound = payload['kubernetes.io'] as Bound | undefined;
  if (bound?.namespace !== namespace)
    throw new PodTokenError('token-namespace', 'the token belongs to another namespace');
  if (
    bound.serviceaccount?.name !== serviceAccount ||
    payload.sub !== `system:serviceaccount:${namespace}:${serviceAccount}`
  )
    throw new PodTokenError('token-account', 'the token belongs to another service account');
  const { name, uid } = bound.pod ?? {};
  // The uid becomes part of subjects, so only a UUID is accepted.
  if (typeof name !== 'string' || typeof uid !== 'string' || !/^[0-9a-f-]{36}$/.test(uid))
    throw new PodTokenError('token-unbound', 'the token is not bound to a pod');
  return { uid, pod: name };
}

function asPodTokenError(error: unknown): PodTokenError {
  if (error instanceof PodTokenError) return error;
  if (error instanceof errors.JWKSInvalid)
    return new PodTokenError('keys-unavailable', 'the keys of the cluster are not a JSON Web Key Set', {
      cause: error,
    });
  if (error instanceof errors.JWTExpired)
    return new PodTokenError('token-expired', 'the token has expired', { cause: error });
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud')
      return new PodTokenError('token-audience', 'the token is for another audience', { cause: error });
    if (error.claim === 'nbf') return new PodTokenError('token-early', 'the token is not valid yet', { cause: error });
    if (error.claim === 'iss')
      return new PodTokenError('token-issuer', 'the token has another issuer', { cause: error });
    return new PodTokenError('token-malformed', `the token's ${error.claim} is missing or wrong`, { cause: error });
  }
  if (
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JOSEAlgNotAllowed
  ) {
    return new PodTokenError('token-signature', 'the token is not signed by a key of the cluster', { cause: error });
  }
  return new PodTokenError('token-malformed', 'not a pod token', { cause: error });
}

/** Cached, and fetched again when a token names an unknown key, because the cluster may have rotated its keys. */
function cachedKeys(fetch: () => Promise<JSONWebKeySet>): JWTVerifyGetKey {
  // The address is not used: the client of the API server knows its own.
  return createRemoteJWKSet(new URL('https://kubernetes.default.svc/openid/v1/jwks'), {
    [customFetch]: async () => {
      const keys = await fetch().catch((cause: unknown) => {
        throw new PodTokenError('keys-unavailable', 'cannot load the keys of the cluster', { cause });
      });
      return Response.json(keys);
    },
    cooldownDuration: FETCH_AGAIN_MS,
    cacheMaxAge: Infinity,
  });
}
