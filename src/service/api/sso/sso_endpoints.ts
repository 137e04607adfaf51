/** Single sign-on in a browser: the ways to sign in, the way to an issuer, and back. What goes wrong is a page. */
import Type from 'typebox';
import { RetUrl, safeRetUrl } from '../accounts/account_fields.ts';
import { beginSession, handOver } from '../accounts/session_endpoints.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound, type ErrorCode } from '../errors.ts';
import { flowCookie, setFlowCookie } from '../http/authenticate.ts';
import { endpoint } from '../http/endpoint.ts';
import { BASE } from '../http/endpoint_access.ts';
import { checkedBy } from '../http/read_input.ts';
import { type Context, paramOf, remoteIp } from '../http/request_context.ts';
import { closed, component, flag } from '../http/request_fields.ts';
import { errorResponse, type Response } from '../openapi/operation.ts';
import { html } from '../report_page/html.ts';
import { sendHtml } from '../report_page/report_endpoints.ts';
import type { Flow, Issuer } from './issuers.ts';
import { signInAs } from './let_in.ts';

export const Name = Type.String({ pattern: '^[A-Za-z0-9-]{1,32}$', description: 'The name of an issuer.' });

export function issuerOf({ issuers }: Pick<Deps, 'issuers'>, ctx: Context): Issuer {
  const issuer = issuers.get(paramOf(ctx, 'name'));
  if (!issuer) throw notFound();
  return issuer;
}

const WaysAnswer = component('SignInWays', {
  passwords: Type.Boolean({ description: 'Whether people sign in with a password.' }),
  'sign-up': Type.Boolean({ description: 'Whether people may sign up.' }),
  issuers: Type.Array(
    closed({
      name: Type.String(),
      path: Type.String({ description: 'Where a browser begins the sign-in.' }),
    }),
  ),
});

const pathOf = (name: string): string => `${BASE}/auth/sso/${name}`;

function addressOf(path: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return `${path}${text === '' ? '' : `?${text}`}`;
}

export const ways = endpoint(
  'GET auth/sso',
  {
    id: 'listSignInWays',
    summary: 'List the ways to sign in',
    answer: { description: 'With a password, and by issuers of single sign-on.', schema: WaysAnswer },
  },
  ({ accounts, issuers }, ctx) => {
    const { passwords, signUp, mail } = accounts.settings;
    ctx.body = {
      passwords,
      'sign-up': passwords && signUp && mail !== null,
      issuers: [...issuers.keys()].map((name) => ({ name, path: pathOf(name) })),
    };
  },
);

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

const BeginQuery = closed({
  'ret-url': RetUrl,
  'choose-account': flag(false, 'Let a person choose who is signed in at the issuer already.'),
});

export const beginSso = endpoint(
  'GET auth/sso/:name',
  {
    id: 'beginSignIn',
    summary: 'Sign in by an issuer',
    description:
      'For browsers: redirects to the issuer, with a cookie that belongs to this sign-in for ten minutes. Errors are ' +
      'pages.',
    params: { name: Name },
    query: BeginQuery,
    answer: { status: 303, description: 'To the issuer.', headers: REDIRECT },
    answers: PAGES,
  },
  async (deps, ctx) => {
    const { accounts, store } = deps;
    const issuer = issuerOf(deps, ctx);
    const { name } = issuer.settings;
    let to = HOME;
    ctx.state.errorPage = (error) => showError(ctx, name, to, error);
    const asked = checkedBy(BeginQuery, ctx);
    to = safeRetUrl(asked['ret-url']) ?? HOME;
    const { url, flow } = await issuer.begin(asked['choose-account']);
    const kept: KeptFlow = { ...flow, to, until: store.clock.now() + FLOW_MS };
    const sealed = await accounts.box.seal(JSON.stringify(kept), 'sso', name);
    setFlowCookie(ctx, deps, sealed.toString('latin1'), FLOW_MS);
    redirect(ctx, url);
  },
);

async function comeBack(deps: Deps, ctx: Context): Promise<void> {
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
}

export const endSso = endpoint(
  'GET auth/sso/:name/callback',
  {
    id: 'endSignIn',
    summary: 'Come back from an issuer',
    description:
      'Where an issuer sends browsers back to. Sets the cookie `jwt` of a session that lasts an hour; behind TLS ' +
      'also `__Host-jwt`. Errors are pages.',
    params: { name: Name },
    input: 'ignored',
    answer: { status: 303, description: 'Signed in.', headers: REDIRECT },
    answers: PAGES,
  },
  comeBack,
);
