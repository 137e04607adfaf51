/** Single sign-on in a browser: the ways to sign in, the way to an issuer, and back. What goes wrong is a page. */
import Type from 'typebox';
import { RetUrl, safeRetUrl } from '../accounts/account_fields.ts';
import { beginSession, handOver } from '../accounts/session_endpoints.ts';
import type { Deps } from '../deps.ts';
import { ApiError, orNotFound, type ErrorCode, invalid } from '../errors.ts';
import { flowCookie, setFlowCookie } from '../http/authenticate.ts';
import { endpoint } from '../http/endpoint.ts';
import { BASE } from '../http/endpoint_access.ts';
import { type Context, paramOf, remoteIp } from '../http/request_context.ts';
import { closed, component, flag, orNull } from '../http/request_fields.ts';
import { errorResponse, type Response } from '../openapi/operation.ts';
import { html } from '../report_page/html.ts';
import { sendHtml } from '../report_page/report_endpoints.ts';
import type { Flow, Issuer } from './issuers.ts';
import { signInAs, makeProgramToken } from './let_in.ts';
import { createHash } from 'node:crypto';
import { note, secrets } from '../http/audit.ts';

const Name = Type.String({ pattern: '^[A-Za-z0-9-]{1,32}$', description: 'The name of an issuer.' });

const issuerOf = ({ issuers }: Pick<Deps, 'issuers'>, ctx: Context): Issuer =>
  orNotFound(issuers.get(paramOf(ctx, 'name')));

const pathOf = (name: string): string => `${BASE}/auth/sso/${name}`;

function addressOf(path: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return `${path}${text === '' ? '' : `?${text}`}`;
}

export const ways = endpoint('GET auth/sso', {
  id: 'listSignInWays',
  summary: 'List the ways to sign in',
  answer: {
    description: 'With a password, and by issuers of single sign-on.',
    schema: component('SignInWays', {
      passwords: Type.Boolean({ description: 'Whether people sign in with a password.' }),
      'sign-up': Type.Boolean({ description: 'Whether people may sign up.' }),
      issuers: Type.Array(
        closed({
          name: Type.String(),
          path: Type.String({ description: 'Where a browser begins the sign-in.' }),
        }),
      ),
    }),
  },
  work({ accounts, issuers }) {
    const { passwords, signUp, mail } = accounts.settings;
    return {
      passwords,
      'sign-up': passwords && signUp && mail !== null,
      issuers: [...issuers.keys()].map((name) => ({ name, path: pathOf(name) })),
    };
  },
});

// What went wrong, for the person who looks at it.

const ADVICE: Partial<Record<ErrorCode, string>> = {
  'sso-refused': 'If you have several accounts there, choose another one. Else an administrator can give you access.',
  unavailable: 'Nothing is wrong with your account. Try again in a minute.',
};

/** The name of an issuer stays as it is. */
const sentence = (text: string, name: string): string =>
  text.startsWith(name) ? `${text}.` : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;

const HOME = '/app/';

/** `to`: where they wanted to go. */
function showError(ctx: Context, name: string, to: string, error: ApiError): void {
  const query = to === HOME ? {} : { 'ret-url': to };
  const again = pathOf(name);
  // To the sign-in of the console pages have their address below /app.
  const below = to.startsWith(HOME) && to !== HOME ? { to: to.slice('/app'.length) } : {};
  const page = html`<main>
    <h1>You are not signed in</h1>
    <p>${sentence(error.message, name)}</p>
    <p>${ADVICE[error.code] ?? 'Begin the sign-in once more. If this comes again, tell the operator.'}</p>
    <ul>
      <li><a href="${addressOf(again, query)}">Sign in with ${name} again</a></li>
      <li><a href="${addressOf(again, { ...query, 'choose-account': 'true' })}">Choose another account</a></li>
      <li><a href="${addressOf('/app/sign-in', below)}">Other ways to sign in</a></li>
    </ul>
    <p class="quiet">For the operator: ${ctx.state.requestId}</p>
  </main>`;
  sendHtml(ctx, 'You are not signed in', page.text);
}

const asPage = (path: string, status: number): Response => ({
  ...errorResponse(path, status),
  otherTypes: { 'text/html': Type.String() },
});
const PAGES = Object.fromEntries([400, 403, 409, 429, 500, 503].map((status) => [status, asPage(BASE, status)]));

function redirect(ctx: Context, address: string): void {
  ctx.set('Location', address);
  ctx.body = '';
  ctx.remove('Content-Type');
}

const REDIRECT = { Location: { description: 'Where to.', schema: Type.String() } };

// The browser keeps what it comes back with, sealed for this issuer: another one cannot answer in its place.

interface KeptFlow extends Flow {
  to: string;
  until: number;
}

const FLOW_MS = 600_000;

async function keptFlow({ accounts, store }: Deps, ctx: Context, name: string): Promise<KeptFlow | null> {
  const cookie = flowCookie(ctx, { accounts });
  if (!cookie) return null;
  const kept = JSON.parse((await accounts.box.openKept(cookie, 'sso', name)) ?? 'null') as KeptFlow | null;
  return kept && kept.until > store.clock.now() ? kept : null;
}

export const beginSso = endpoint('GET auth/sso/:name', {
  id: 'beginSignIn',
  summary: 'Sign in by an issuer',
  description:
    'For browsers: redirects to the issuer, with a cookie that belongs to this sign-in for ten minutes. Errors are ' +
    'pages.',
  params: { name: Name },
  query: closed({
    'ret-url': RetUrl,
    'choose-account': flag(false, 'Let a person choose who is signed in at the issuer already.'),
  }),
  answer: { status: 303, description: 'To the issuer.', headers: REDIRECT },
  answers: PAGES,
  async work(deps, ctx, asked) {
    const { accounts, store } = deps;
    const issuer = issuerOf(deps, ctx);
    const { name } = issuer.settings;
    let to = HOME;
    ctx.state.errorPage = (error) => showError(ctx, name, to, error);
    to = safeRetUrl(asked['ret-url']) ?? HOME;
    const { url, flow } = await issuer.begin(asked['choose-account']);
    const kept: KeptFlow = { ...flow, to, until: store.clock.now() + FLOW_MS };
    const sealed = await accounts.box.seal(JSON.stringify(kept), 'sso', name);
    setFlowCookie(ctx, deps, sealed.toString('latin1'), FLOW_MS);
    redirect(ctx, url);
  },
});

export const endSso = endpoint('GET auth/sso/:name/callback', {
  id: 'endSignIn',
  summary: 'Come back from an issuer',
  description:
    'Where an issuer sends browsers back to. Sets the cookie `jwt` of a session that lasts an hour; behind TLS ' +
    'also `__Host-jwt`. Errors are pages.',
  params: { name: Name },
  input: 'ignored',
  answer: { status: 303, description: 'Signed in.', headers: REDIRECT },
  answers: PAGES,
  async work(deps, ctx) {
    const { attempts, settings } = deps.accounts;
    const issuer = issuerOf(deps, ctx);
    const { name } = issuer.settings;
    let to = HOME;
    ctx.state.errorPage = (error) => showError(ctx, name, to, error);
    // A HEAD must not use up what a GET comes with.
    if (ctx.method !== 'GET') throw new ApiError('method-not-allowed', { headers: { Allow: 'GET' } });
    const flow = await keptFlow(deps, ctx, name);
    setFlowCookie(ctx, deps, '', 0);
    if (!flow)
      throw new ApiError('sso-failed', {
        text: 'this sign-in was begun in another browser, or more than ten minutes ago, or is used already',
      });
    to = flow.to;
    const address = { address: remoteIp(ctx, settings.trustedHops) };
    await attempts.take('code:address', address);
    const person = await issuer.redeem(ctx.querystring, flow);
    const session = await signInAs(deps, ctx, person, issuer.settings, (store, { id }) =>
      beginSession(deps, ctx, id, 'issuer', store),
    );
    await attempts.giveBack('code:address', address);
    await handOver(deps, ctx, session);
    redirect(ctx, to);
  },
});

// Single sign-on of programs without a browser (RFC 8628): a person enters a short code at the issuer, and the program
// gets an API token of theirs.

/** Where the issuer names none (RFC 8628). */
const INTERVAL_S = 5;

export const beginDevice = endpoint('POST auth/sso/:name/device', {
  id: 'beginDeviceSignIn',
  summary: 'Sign a program in by an issuer',
  description:
    'For programs without a browser: a person opens the address and enters the code, while the program asks ' +
    '`auth/sso/{name}/token`.',
  params: { name: Name },
  answer: {
    description: 'The code, and where it is entered.',
    schema: closed({
      'device-code': Type.String({ description: 'For `auth/sso/{name}/token`.' }),
      'user-code': Type.String({ description: 'What a person enters.' }),
      url: Type.String({ description: 'Where they enter it.' }),
      'expires-in': Type.Integer({ description: 'Seconds.' }),
      interval: Type.Integer({ description: 'Seconds between two questions.' }),
    }),
  },
  errors: { 400: 'The issuer signs in no programs.', 503: 'The issuer cannot be reached.' },
  async work(deps, ctx) {
    const { attempts, box, settings } = deps.accounts;
    const issuer = issuerOf(deps, ctx);
    await attempts.take('code:address', { address: remoteIp(ctx, settings.trustedHops) });
    const started = await issuer.beginDevice();
    // Sealed: nobody asks the issuer about a code that did not come from here.
    const sealed = await box.seal(started.device_code, 'sso', `device:${issuer.settings.name}`);
    return {
      'device-code': sealed.toString('latin1'),
      'user-code': started.user_code,
      url: started.verification_uri_complete ?? started.verification_uri,
      'expires-in': Math.ceil(started.expires_in),
      interval: Math.ceil(started.interval ?? INTERVAL_S),
    };
  },
});

/** About a working day. It ends with its user, as every token. */
const TOKEN_MS = 12 * 3_600_000;

export const redeemDevice = endpoint('POST auth/sso/:name/token', {
  id: 'endDeviceSignIn',
  summary: 'Ask for the token of a program',
  params: { name: Name },
  body: closed({ 'device-code': Type.String({ minLength: 1, maxLength: 8192 }) }),
  description:
    'Once a person has entered the code, the answer has an API token of theirs, with all of their permissions but ' +
    '`write:policy`. To be asked no more often than the interval says.',
  answer: {
    description: 'The token, or that nobody has entered the code yet.',
    schema: closed({
      pending: Type.Boolean({ description: 'Nobody has entered the code yet.' }),
      'slow-down': Type.Boolean({ description: 'To be asked five seconds later from now on.' }),
      token: orNull(Type.String({ description: 'An API token that ends after twelve hours.' })),
      expires: orNull(Type.String({ format: 'date-time' })),
      email: orNull(Type.String()),
    }),
  },
  also: [409],
  errors: { 400: 'The code is not valid, has expired, or was used.', 503: 'The issuer cannot be reached.' },
  async work(deps, ctx, { 'device-code': sealed }) {
    const { accounts } = deps;
    const issuer = issuerOf(deps, ctx);
    const code = await accounts.box.openKept(sealed, 'sso', `device:${issuer.settings.name}`);
    if (code === null) throw invalid('device-code', 'is not valid');
    await accounts.attempts.take('sso:device', { account: createHash('sha256').update(code).digest('hex') });
    const person = await issuer.redeemDevice(code);
    if (typeof person === 'string')
      return { pending: true, 'slow-down': person === 'slow-down', token: null, expires: null, email: null };
    const { token, expires, email } = await signInAs(deps, ctx, person, issuer.settings, async (store, user) => {
      const made = await makeProgramToken(deps, store, user, 'probeyard login', TOKEN_MS);
      const until = made.expiresAt.toISOString();
      const changes = [{ field: 'expires', after: until }, ...secrets('shown', 'token')];
      note(ctx, { subject: `api-token/${made.id}`, changes });
      return { token: made.token, expires: until, email: user.email };
    });
    return { pending: false, 'slow-down': false, token, expires, email };
  },
});
