/**
 * Passwords. A change requires the caller's own password, so an unattended session is not enough. A reset requires the
 * code from a mail; its response and cost are the same if there is no account.
 */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { mayChange } from '../../accounts/authority.ts';
import { seesEveryone, type Caller } from '../../accounts/caller.ts';
import { callerOf, type Context, idOf, remoteIp } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid, notFound } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, GivenPassword, Id, Jwt, Password } from './account_fields.ts';
import { checkedBy } from '../http/read_input.ts';
import { closed, flag } from '../http/request_fields.ts';
import { resetMail } from '../../accounts/mail_texts.ts';
import { NOT_VALID } from './sign_up_endpoints.ts';

const PasswordBody = closed({
  'old-password': GivenPassword,
  'new-password': Password,
  'logout-all': flag(false, 'End all sessions of the user and their JWTs. Send true if a session may be compromised.'),
});

async function changePassword({ accounts, store }: Deps, ctx: Context, caller: Caller, userId: number): Promise<void> {
  const { 'old-password': old, 'new-password': wanted, 'logout-all': logoutAll } = checkedBy(PasswordBody, ctx);
  const { attempts, passwords, settings } = accounts;
  await attempts.take('password:address', { address: remoteIp(ctx, settings.trustedHops) });
  await attempts.take('password:caller', { account: caller.userId });
  if (!(await passwords.verify(old, await store.passwordHash(caller.userId))))
    throw invalid('old-password', caller.userId === userId ? 'is wrong' : 'is wrong; your own password is required');
  await attempts.forget('password:caller', { account: caller.userId });
  await store.setPassword(userId, await passwords.hash(wanted));
  if (logoutAll) await store.endSessions(userId);
  ctx.status = 204;
}

async function changeAnothers(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const target = await deps.store.findUser(idOf(ctx), seesEveryone(caller) ? null : caller.userId);
  if (!target) throw notFound();
  if (!mayChange(caller, target)) throw new ApiError('not-yours');
  await changePassword(deps, ctx, caller, target.id);
}

export const ownPassword = endpoint(
  'PUT auth/current/password',
  {
    id: 'changeOwnPassword',
    summary: 'Change your password',
    body: PasswordBody,
    answer: { description: 'The password is changed.' },
  },
  (deps, ctx) => changePassword(deps, ctx, callerOf(ctx), callerOf(ctx).userId),
);

export const anothersPassword = endpoint(
  'PUT auth/:id/password',
  {
    id: 'changePassword',
    summary: "Set a user's password",
    params: { id: Id },
    body: PasswordBody,
    description:
      'Of a sub-user; administrators can set the password of anyone but other administrators. `old-password` is ' +
      "the caller's own.",
    answer: { description: 'The password is set.' },
  },
  changeAnothers,
);

const ResetBody = closed({ email: Email });
const ResetAnswer = closed({ success: Type.Literal(true) });
const CODE_MS = 3_600_000;

async function sendCode({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { settings, attempts, jwts } = accounts;
  if (!settings.mail) throw new ApiError('no-mail');
  const { email } = checkedBy(ResetBody, ctx);
  await attempts.take('reset:address', { address: remoteIp(ctx, settings.trustedHops) });
  await attempts.take('mail:account', { account: email });
  const codeId = randomUUID();
  const code = await jwts.sign('reset', { id: codeId, userId: 0 }, new Date(store.clock.now() + CODE_MS));
  const mail = await accounts.sealMail(resetMail(settings.publicUrl, code));
  await store.askReset({ email, codeId, codeMs: CODE_MS, mail: { ...mail, recipient: email } });
  accounts.mailsWait();
  ctx.body = { success: true };
}

export const reset = endpoint(
  'POST auth/reset',
  {
    id: 'askReset',
    summary: 'Request a password reset',
    body: ResetBody,
    description: 'Sends a mail with a code for `auth/reset/confirm`, if the account exists.',
    answer: { description: 'If the account exists, a mail is being sent.', schema: ResetAnswer },
  },
  sendCode,
);

const ConfirmBody = closed({ 'reset-token': Jwt, 'new-password': Password });
const ConfirmAnswer = closed({ success: Type.Literal(true), email: Type.String(), status: Type.String() });

async function setNew({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { 'reset-token': code, 'new-password': password } = checkedBy(ConfirmBody, ctx);
  await accounts.attempts.take('code:address', { address: remoteIp(ctx, accounts.settings.trustedHops) });
  const claims = await accounts.jwts.verify('reset', code);
  if (!claims) throw invalid('reset-token', NOT_VALID);
  const redeemed = await store.redeemReset(claims.id, await accounts.passwords.hash(password));
  if (!redeemed) throw invalid('reset-token', NOT_VALID);
  await accounts.attempts.forget('password:account', { account: redeemed.userId });
  ctx.body = { success: true, email: redeemed.email, status: redeemed.status };
}

export const resetConfirm = endpoint(
  'POST auth/reset/confirm',
  {
    id: 'confirmReset',
    summary: 'Reset a password',
    body: ConfirmBody,
    description: 'Takes the code from the mail, which is valid once. Activates an invited account.',
    answer: {
      description:
        'The password is set. All sessions and their JWTs have ended; API tokens stay valid until they are revoked.',
      schema: ConfirmAnswer,
    },
  },
  setNew,
);
