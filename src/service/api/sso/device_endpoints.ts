/**
 * Single sign-on of programs without a browser (RFC 8628): a person enters a short code at the issuer, and the program
 * gets an API token of theirs.
 */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import type { Deps } from '../deps.ts';
import { invalid } from '../errors.ts';
import { note, secrets } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { type Context, remoteIp } from '../http/request_context.ts';
import { closed, orNull } from '../http/request_fields.ts';
import { makeProgramToken, signInAs } from './let_in.ts';
import { issuerOf, Name } from './sso_endpoints.ts';

const DeviceAnswer = closed({
  'device-code': Type.String({ description: 'For `auth/sso/{name}/token`.' }),
  'user-code': Type.String({ description: 'What a person enters.' }),
  url: Type.String({ description: 'Where they enter it.' }),
  'expires-in': Type.Integer({ description: 'Seconds.' }),
  interval: Type.Integer({ description: 'Seconds between two questions.' }),
});

/** Where the issuer names none (RFC 8628). */
const INTERVAL_S = 5;

async function begin(deps: Deps, ctx: Context): Promise<void> {
  const { attempts, box, settings } = deps.accounts;
  const issuer = issuerOf(deps, ctx);
  await attempts.take('code:address', { address: remoteIp(ctx, settings.trustedHops) });
  const started = await issuer.beginDevice();
  // Sealed: nobody asks the issuer about a code that did not come from here.
  const sealed = await box.seal(started.device_code, 'sso', `device:${issuer.settings.name}`);
  ctx.body = {
    'device-code': sealed.toString('latin1'),
    'user-code': started.user_code,
    url: started.verification_uri_complete ?? started.verification_uri,
    'expires-in': Math.ceil(started.expires_in),
    interval: Math.ceil(started.interval ?? INTERVAL_S),
  };
}

export const beginDevice = endpoint(
  'POST auth/sso/:name/device',
  {
    id: 'beginDeviceSignIn',
    summary: 'Sign a program in by an issuer',
    description:
      'For programs without a browser: a person opens the address and enters the code, while the program asks ' +
      '`auth/sso/{name}/token`.',
    params: { name: Name },
    answer: { description: 'The code, and where it is entered.', schema: DeviceAnswer },
    errors: { 400: 'The issuer signs in no programs.', 503: 'The issuer cannot be reached.' },
  },
  begin,
);

const TokenBody = closed({ 'device-code': Type.String({ minLength: 1, maxLength: 8192 }) });
const TokenAnswer = closed({
  pending: Type.Boolean({ description: 'Nobody has entered the code yet.' }),
  'slow-down': Type.Boolean({ description: 'To be asked five seconds later from now on.' }),
  token: orNull(Type.String({ description: 'An API token that ends after twelve hours.' })),
  expires: orNull(Type.String({ format: 'date-time' })),
  email: orNull(Type.String()),
});

/** About a working day. It ends with its user, as every token. */
const TOKEN_MS = 12 * 3_600_000;

async function redeem(deps: Deps, ctx: Context): Promise<void> {
  const { accounts } = deps;
  const issuer = issuerOf(deps, ctx);
  const { 'device-code': sealed } = checkedBy(TokenBody, ctx);
  const code = await accounts.box.openKept(sealed, 'sso', `device:${issuer.settings.name}`);
  if (code === null) throw invalid('device-code', 'is not valid');
  await accounts.attempts.take('sso:device', { account: createHash('sha256').update(code).digest('hex') });
  const person = await issuer.redeemDevice(code);
  if (typeof person === 'string') {
    ctx.body = { pending: true, 'slow-down': person === 'slow-down', token: null, expires: null, email: null };
    return;
  }
  const { token, expires, email } = await signInAs(deps, ctx, person, issuer.settings, async (store, user) => {
    const made = await makeProgramToken(deps, store, user, 'probeyard login', TOKEN_MS);
    const until = made.expiresAt.toISOString();
    const changes = [{ field: 'expires', after: until }, ...secrets('shown', 'token')];
    note(ctx, { subject: `api-token/${made.id}`, changes });
    return { token: made.token, expires: until, email: user.email };
  });
  ctx.body = { pending: false, 'slow-down': false, token, expires, email };
}

export const redeemDevice = endpoint(
  'POST auth/sso/:name/token',
  {
    id: 'endDeviceSignIn',
    summary: 'Ask for the token of a program',
    params: { name: Name },
    body: TokenBody,
    description:
      'Once a person has entered the code, the answer has an API token of theirs, with all of their permissions but ' +
      '`write:policy`. To be asked no more often than the interval says.',
    answer: { description: 'The token, or that nobody has entered the code yet.', schema: TokenAnswer },
    also: [409],
    errors: { 400: 'The code is not valid, has expired, or was used.', 503: 'The issuer cannot be reached.' },
  },
  redeem,
);
