/**
 * oidc-provider as a real issuer, over TLS. Whoever comes to it is signed in at once as the one that the test names, or
 * by its own pages in a browser. What it signs can be changed on its way out, and its keys can be exchanged.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import type { IssuerSettings } from '../../../src/base/issuer_settings.ts';
import { issuerFetch, type IssuerFetch } from '../../../src/service/api/sso/issuer_fetch.ts';
import { makeCertificate } from '../../source/certificate.ts';

export const PUBLIC = 'https://probeyard.example';
export const SECRET = 'the-secret-of-the-client-1234567890';
const CLIENT = 'probeyard';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

export interface Claims {
  email?: string;
  email_verified?: boolean;
  groups?: string[];
  given_name?: string;
  family_name?: string;
}

export interface TestIssuer {
  url: string;
  settings: IssuerSettings;
  people: Map<string, Claims>;
  /** Changes the claims of ID tokens, or the whole token. */
  change: { claims?: (claims: Record<string, unknown>) => object; token?: (token: string) => Promise<string> };
  /** The person denies. */
  denies: boolean;
  /** Answers nothing but this status. */
  away: number | null;
  /** As a browser of this person: to the address that it is sent back to. */
  visit(address: string, subject: string): Promise<URL>;
  /** The person enters the code of a program. */
  approve(userCode: string, subject: string): Promise<void>;
  /** Signed by a key that it shows; by another one if told so. */
  sign(claims: object, header?: object, key?: JWK): Promise<string>;
  /** New keys; the former ones are gone. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
}

export async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: 'RS256', use: 'sig' };
}

type Certificate = Awaited<ReturnType<typeof makeCertificate>>;
let shared: Promise<Certificate> | undefined;
/** Of all issuers, so that one authority is trusted. */
export const certificate = (): Promise<Certificate> =>
  (shared ??= makeCertificate({ ip: ['127.0.0.1'], dns: ['localhost'] }));

export const toIssuers = async (): Promise<IssuerFetch> =>
  issuerFetch({ ca: (await certificate()).cert, denyCidrs: [], allow: [{ cidr: '127.0.0.0/8' }] });

interface HowItIsMet {
  /** Of the installation that it sends people back to. */
  publicUrl?: string;
  /** People sign in on its pages, and may cancel there. */
  hasPages?: boolean;
}

function makeProvider(issuer: TestIssuer, keys: JWK[], { publicUrl = PUBLIC, hasPages = false }: HowItIsMet): Provider {
  const provider = new Provider(issuer.url, {
    jwks: { keys } as never,
    clients: [
      {
        client_id: CLIENT,
        client_secret: SECRET,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['authorization_code', DEVICE],
        response_types: ['code'],
        redirect_uris: [`${publicUrl}/frontend/api/v1/auth/sso/${issuer.settings.name}/callback`],
      },
    ],
    claims: { openid: ['sub', 'email', 'email_verified', 'groups', 'given_name', 'family_name'] },
    cookies: { keys: ['for tests'] },
    features: { devInteractions: { enabled: hasPages }, deviceFlow: { enabled: true } },
    ...(hasPages ? {} : { interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` } }),
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, ...issuer.people.get(sub) }),
    }),
    // Nobody is asked whether they consent.
    async loadExistingGrant(ctx) {
      const { client, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
      grant.addOIDCScope('openid');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

interface Answer {
  location: string | undefined;
  cookies: string[];
  status: number;
}

async function ask(address: string, cookie: string, ca: string): Promise<Answer> {
  const sent = request(address, { ca, agent: false, headers: { cookie, accept: 'text/html' } });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  const cookies = (answer.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]!);
  return { location: answer.headers.location, cookies, status: answer.statusCode ?? 0 };
}

const MOST_STEPS = 10;

export async function startIssuer(
  name: string,
  change: Partial<IssuerSettings> = {},
  met: HowItIsMet = {},
): Promise<TestIssuer> {
  const { cert, key } = await certificate();
  let keys = [await newKey()];
  let provider: Provider;
  /** Who the browser is that comes to it now. */
  let visitor = '';
  const server = createServer({ cert, key }, (incoming, response) => {
    if (issuer.away === null) return void provider.callback()(incoming, response);
    response.writeHead(issuer.away).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const signed = async (claims: object, header: object, by: JWK): Promise<string> =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: by.kid!, ...header })
      .sign(await importJWK(by, 'RS256'));

  async function changed(token: string): Promise<string> {
    const { claims, token: whole } = issuer.change;
    if (whole) return whole(token);
    const before = decodeJwt(token);
    return claims ? signed({ ...before, ...claims(before) }, decodeProtectedHeader(token), keys[0]!) : token;
  }

  function start(): void {
    provider = makeProvider(issuer, keys, met);
    provider.use(async (ctx, next) => {
      if (!met.hasPages && ctx.path.startsWith('/interaction/')) {
        const result = issuer.denies ? { error: 'access_denied' } : { login: { accountId: visitor } };
        const options = { mergeWithLastSubmission: false };
        ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result, options));
        return;
      }
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (ctx.path === '/token' && body?.id_token) ctx.body = { ...body, id_token: await changed(body.id_token) };
    });
  }

  const issuer: TestIssuer = {
    url,
    settings: {
      name,
      issuer: url,
      clientId: CLIENT,
      hasSecret: true,
      scopes: [],
      claims: { email: 'email', groups: 'groups' },
      groups: { staff: 'user', admins: 'admin' },
      allowedDomains: [],
      linkByEmail: false,
      audience: '',
      ...change,
    },
    people: new Map(),
    change: {},
    denies: false,
    away: null,
    async visit(address, subject) {
      visitor = subject;
      const jar = new Map<string, string>();
      let at = new URL(address);
      for (let step = 0; step < MOST_STEPS && at.origin === url; step++) {
        const cookie = [...jar].map((parts) => parts.join('=')).join('; ');
        const answer = await ask(at.href, cookie, cert);
        for (const one of answer.cookies) jar.set(one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1));
        if (answer.location === undefined) throw new Error(`${at.pathname} answered ${answer.status}`);
        at = new URL(answer.location, at);
      }
      return at;
    },
    async approve(userCode, subject) {
      const code = await provider.DeviceCode.findByUserCode(userCode.replaceAll('-', ''));
      if (!code) throw new Error(`no program waits for ${userCode}`);
      const grant = new provider.Grant({ clientId: CLIENT, accountId: subject });
      grant.addOIDCScope('openid');
      const grantId = await grant.save();
      const authTime = Math.floor(Date.now() / 1_000);
      Object.assign(code, { accountId: subject, grantId, scope: 'openid', authTime });
      await code.save();
    },
    sign: (claims, header = {}, by = keys[0]!) => signed(claims, header, by),
    async rotate() {
      keys = [await newKey()];
      start();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  start();
  return issuer;
}
