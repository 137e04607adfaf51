/**
 * Token services as Amazon, Google and Microsoft have them, on this machine: they verify the token of the service
 * account by the keys of its cluster, its audience and subject, and grant access for an hour.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';

export interface Granting {
  /** That every grant has; a number is added for each. */
  word: string;
  /** How long a grant lasts. */
  seconds: number;
  /** In place of a grant; `silence`: it never answers. */
  answer?: { status: number; text: string } | 'silence' | undefined;
}

export interface TokenService {
  url: string;
  /** What it was asked for: path and fields, without tokens. */
  asked: string[];
  granting: Granting;
  /** Requests so far, answered or not. */
  requests(): number;
  close(): Promise<void>;
}

export const AUDIENCE = { s3: 'sts.amazonaws.com', gs: 'https://pool.test', az: 'api://AzureADTokenExchange' } as const;
export const ROLE = 'arn:aws:iam::123456789012:role/probeyard';

interface Settings {
  keys: JSONWebKeySet;
  /** `system:serviceaccount:NAMESPACE:NAME`. */
  subject: string;
  host?: string;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request as AsyncIterable<Buffer>) text += part.toString();
  return text;
}

/** Amazon answers in the format that it is asked for; services like it have XML alone. */
const amazon = (word: string, until: Date, accept: string): string =>
  accept.includes('json')
    ? JSON.stringify({ AssumeRoleWithWebIdentityResponse: {} })
    : `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>KEY${word}</AccessKeyId><SecretAccessKey>secret/${word}</SecretAccessKey>
<SessionToken>session-${word}==</SessionToken><Expiration>${until.toISOString()}</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

export async function startTokenService({ keys, subject, host = '127.0.0.1' }: Settings): Promise<TokenService> {
  const jwks = createLocalJWKSet(keys);
  const asked: string[] = [];
  const granting: Granting = { word: 'word', seconds: 3600 };
  let count = 0;
  let received = 0;

  async function isOurs(token: string | null, audience: string): Promise<boolean> {
    return jwtVerify(token ?? '', jwks, { audience, subject }).then(
      () => true,
      () => false,
    );
  }

  async function answerTo(path: string, body: string, headers: IncomingHttpHeaders): Promise<[number, string]> {
    const { accept = '', authorization = '' } = headers;
    const form = new URLSearchParams(body);
    const word = `${granting.word}-${++count}`;
    const until = new Date(Date.now() + granting.seconds * 1000);
    const refuse = (code: string): [number, string] => [403, `<Error><Code>${code}</Code></Error>`];
    if (path === '/' && form.get('Action') === 'AssumeRoleWithWebIdentity') {
      asked.push(`s3 ${form.get('RoleArn')}`);
      if (!(await isOurs(form.get('WebIdentityToken'), AUDIENCE.s3))) return refuse('InvalidIdentityToken');
      return form.get('RoleArn') === ROLE ? [200, amazon(word, until, accept)] : refuse('AccessDenied');
    }
    if (path === '/v1/token') {
      asked.push(`gs ${form.get('audience')} ${form.get('scope')}`);
      if (!(await isOurs(form.get('subject_token'), AUDIENCE.gs))) return [400, '{"error":"invalid_grant"}'];
      return [200, JSON.stringify({ access_token: word, expires_in: granting.seconds, token_type: 'Bearer' })];
    }
    if (path.endsWith(':generateAccessToken')) {
      asked.push(`gs ${decodeURIComponent(path)}`);
      if (!authorization.startsWith(`Bearer ${granting.word}-`)) return [401, '{"error":"unauthenticated"}'];
      return [200, JSON.stringify({ accessToken: `on-behalf-${word}`, expireTime: until.toISOString() })];
    }
    if (path === '/tenant/oauth2/v2.0/token') {
      asked.push(`az ${form.get('client_id')} ${form.get('scope')}`);
      if (!(await isOurs(form.get('client_assertion'), AUDIENCE.az))) return [400, '{"error":"invalid_client"}'];
      return [200, JSON.stringify({ access_token: word, expires_in: granting.seconds })];
    }
    return [404, ''];
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    received++;
    const { answer } = granting;
    if (answer === 'silence') return;
    const [status, text] = answer
      ? [answer.status, answer.text]
      : await answerTo(request.url ?? '', body, request.headers);
    response.writeHead(status).end(text);
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    asked,
    granting,
    requests: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
