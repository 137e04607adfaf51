/**
 * Access to stores that is granted to the controller's identity: the token of its service account is exchanged for it,
 * as each cloud has it. It is requested and renewed apart from requests: jobs are taken in one after the other, and a
 * token service that is silent must not delay those of other accounts.
 */
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { boundedText } from '../../base/bounded_text.ts';
import { jsonIn } from '../../base/json_in.ts';
import { backoff, pause } from '../../base/retry.ts';
import type { NamedCredential, StoreKind, WorkloadIdentity } from '../../base/source_settings.ts';
import { textIn } from '../../base/xml.ts';
import { type EgressRoute, tunnelThrough } from '../../source/http/egress.ts';
import type { SecretOf } from '../../source/named_credential.ts';

export interface IdentitySettings {
  /** Those with an identity are kept. */
  credentials: readonly NamedCredential[];
  /** Has a folder for each of them, with the token that Kubernetes writes and renews. */
  folder: string;
  post: Post;
  /** What keeps a credential from being used; without secrets. */
  onRefused?: (name: string, error: Error) => void;
}

export type Identities = ReturnType<typeof keepIdentities>;

/** Longer than a job may read its source. */
const LEAST_MS = 15 * 60_000;
const PAUSES = { first: 1_000, longest: 60_000 };

interface Access {
  granted?: Granted;
  refused?: Error;
}

export function keepIdentities({ credentials, folder, post, onRefused }: IdentitySettings) {
  const kept = new Map<string, Access>();
  const stopping = new AbortController();

  async function ask(credential: NamedCredential): Promise<Granted> {
    const token = await readFile(join(folder, credential.name, 'token'), 'utf8').catch((cause: unknown) => {
      throw new IdentityError('Kubernetes has given no token', { cause });
    });
    return grant(credential, token.trim(), post, Date.now());
  }

  async function keep(credential: NamedCredential): Promise<void> {
    const state: Access = {};
    kept.set(credential.name, state);
    const pauses = backoff(PAUSES);
    while (!stopping.signal.aborted) {
      let ms: number;
      try {
        state.granted = await ask(credential);
        pauses.reset();
        const life = state.granted.until - Date.now();
        ms = Math.max(PAUSES.first, life - Math.min(LEAST_MS, life / 2));
      } catch (error) {
        state.refused = error as Error;
        onRefused?.(credential.name, error as Error);
        ms = pauses.next();
      }
      await pause(ms, stopping.signal);
    }
  }

  for (const credential of credentials) if (credential.identity) void keep(credential);
  return {
    /** What was granted last, at once. An IdentityError says why there is nothing. */
    secretOf({ name }: NamedCredential): SecretOf {
      const { granted, refused } = kept.get(name) ?? {};
      // A service that is away does not matter while the last grant is valid.
      if (granted && Date.now() < granted.until) return granted.secret;
      throw refused ?? new IdentityError('the token service has not answered yet');
    },
    stop: (): void => stopping.abort(),
  };
}

interface Granted {
  secret: SecretOf;
  /** In milliseconds since 1970. */
  until: number;
}

interface GrantRequest extends WorkloadIdentity {
  region: string;
  /** Of the service account. */
  token: string;
  post: Post;
  now: number;
}

/** Services say what is wrong in a word: the rest of the text may have names in it. */
function refusal({ status, text }: TokenAnswer): IdentityError {
  const code = textIn(text, 'Code') ?? /"(?:error|code|status)"\s*:\s*"([^"]*)"/.exec(text)?.[1];
  const why = code !== undefined && /^[\w.-]{1,60}$/.test(code) ? ` (${code})` : '';
  return new IdentityError(`the token service answers ${status}${why}`);
}

function read(answer: TokenAnswer): Record<string, unknown> {
  if (answer.status !== 200) throw refusal(answer);
  const value = jsonIn(answer.text);
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new IdentityError('the token service answers with something else than JSON');
}

/** Tokens and keys are single words of printable characters; anything else could change a request. */
function word(value: unknown, what: string): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,65536}$/.test(value)) return value;
  throw new IdentityError(`the token service answers without ${what}`);
}

function until(value: unknown): number {
  const time = typeof value === 'number' ? value : Date.parse(String(value));
  if (Number.isFinite(time)) return time;
  throw new IdentityError('the token service does not say until when');
}

const inSeconds = (now: number, seconds: unknown): number => until(now + Number(seconds) * 1000);

const SESSION = 'probeyard';

async function s3({ role = '', region, endpoint, token, post }: GrantRequest): Promise<Granted> {
  const answer = await post({
    url: endpoint ?? `https://sts.${region}.amazonaws.com/`,
    // Amazon would answer in JSON if asked to, and services like it in XML alone.
    headers: { accept: 'application/xml' },
    form: {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: SESSION,
      WebIdentityToken: token,
    },
  });
  if (answer.status !== 200) throw refusal(answer);
  const { text } = answer;
  return {
    secret: {
      accessKey: word(textIn(text, 'AccessKeyId'), 'a key'),
      secretKey: word(textIn(text, 'SecretAccessKey'), 'a secret key'),
      sessionToken: word(textIn(text, 'SessionToken'), 'a session token'),
    },
    until: until(textIn(text, 'Expiration')),
  };
}

const READ_ONLY = 'https://www.googleapis.com/auth/devstorage.read_only';
const CLOUD = 'https://www.googleapis.com/auth/cloud-platform';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type';

async function gs({ provider = '', serviceAccount, endpoint, token, post, now }: GrantRequest): Promise<Granted> {
  const own = read(
    await post({
      url: `${endpoint ?? 'https://sts.googleapis.com'}/v1/token`,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        audience: provider,
        scope: serviceAccount === undefined ? READ_ONLY : CLOUD,
        requested_token_type: `${TOKEN_TYPE}:access_token`,
        subject_token: token,
        subject_token_type: `${TOKEN_TYPE}:jwt`,
      },
    }),
  );
  const bearer = word(own['access_token'], 'a token');
  if (serviceAccount === undefined) return { secret: { bearer }, until: inSeconds(now, own['expires_in']) };
  const path = `/v1/projects/-/serviceAccounts/${encodeURIComponent(serviceAccount)}:generateAccessToken`;
  const other = read(
    await post({
      url: `${endpoint ?? 'https://iamcredentials.googleapis.com'}${path}`,
      headers: { authorization: `Bearer ${bearer}` },
      json: { scope: [READ_ONLY], lifetime: '3600s' },
    }),
  );
  return { secret: { bearer: word(other['accessToken'], 'a token') }, until: until(other['expireTime']) };
}

async function az({ tenant = '', client = '', endpoint, token, post, now }: GrantRequest): Promise<Granted> {
  const answer = read(
    await post({
      url: `${endpoint ?? 'https://login.microsoftonline.com'}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
      form: {
        client_id: client,
        scope: 'https://storage.azure.com/.default',
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: token,
      },
    }),
  );
  return { secret: { bearer: word(answer['access_token'], 'a token') }, until: inSeconds(now, answer['expires_in']) };
}

const BY_KIND: Readonly<Record<StoreKind, (asked: GrantRequest) => Promise<Granted>>> = { s3, gs, az };

/** `token`: of the controller's service account, for the audience of the token service. */
function grant(
  { kind, region = 'us-east-1', identity = {} }: NamedCredential,
  token: string,
  post: Post,
  now: number,
): Promise<Granted> {
  return BY_KIND[kind]({ ...identity, region, token, post, now });
}

// One POST to a token service, through the installation's egress proxy where it applies.

interface TokenRequest {
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Form fields, or an object for JSON. */
  form?: Readonly<Record<string, string>>;
  json?: object;
}

interface TokenAnswer {
  status: number;
  text: string;
}

type Post = (request: TokenRequest) => Promise<TokenAnswer>;

const DEADLINE_MS = 10_000;
/** A token is a few kilobytes. */
const MOST_BYTES = 256 * 1024;

/** `context`: what vouches for token services; without it, Node's own authorities. */
export function postBy(route: EgressRoute | undefined, context?: () => SecureContext): Post {
  return async ({ url, headers = {}, form, json }) => {
    const target = new URL(url);
    const secure = target.protocol === 'https:';
    const body = form ? new URLSearchParams(form).toString() : JSON.stringify(json ?? {});
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const port = target.port === '' ? (secure ? 443 : 80) : Number(target.port);
    const servername = isIP(host) === 0 ? host : '';
    try {
      const socket = route?.applies(host) ? await tunnelThrough(route, host, port, signal) : undefined;
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = (secure ? httpsRequest : httpRequest)(
          target,
          {
            method: 'POST',
            signal,
            headers: {
              'user-agent': 'Probeyard',
              accept: 'application/json',
              ...headers,
              'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
              'content-length': Buffer.byteLength(body),
            },
            createConnection: () =>
              secure
                ? connectTls({ socket, host, port, servername, secureContext: context?.() })
                : (socket ?? connect({ host, port })),
          },
          resolve,
        );
        sent.once('error', reject);
        sent.end(body);
      });
      // A redirect would carry the token elsewhere: it is an answer like any other.
      const text = await boundedText(response as AsyncIterable<Buffer>, MOST_BYTES);
      if (text === undefined) throw new IdentityError('the token service sent too long an answer');
      return { status: response.statusCode ?? 0, text };
    } catch (cause) {
      if (cause instanceof IdentityError) throw cause;
      throw new IdentityError('the token service cannot be reached', { cause });
    }
  };
}

/** Why no access was granted. Its text names neither a token nor a role. */
export class IdentityError extends Error {
  override name = 'IdentityError';
}
