/**
 * What the code from a mail allows. Signing up creates a pending account, which the code activates; a forgotten
 * password is reset by one. Response and cost are the same whether or not the account exists.
 */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { knownMail, resetMail, verifyMail } from '../../accounts/mail_texts.ts';
import { USER_PERMISSIONS } from '../../accounts/caller.ts';
import { type Context, remoteIp } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { note, secrets, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, Jwt, Names, Password } from './account_fields.ts';
import { closed } from '../http/request_fields.ts';
import { makeApiToken } from '../../accounts/make_token.ts';
import { checkPasswords } from './session_endpoints.ts';

const VERIFY_MS = 86_400_000;

function checkOffered(settings: Deps['accounts']['settings']): void {
  checkPasswords(settings);
  const { signUp, mail } = settings;
  if (!signUp) throw new ApiError('sign-up-closed');
  if (!mail)
    throw new ApiError('no-mail', {
      text: 'sign-up is closed, because no mail is configured; ask an administrator for an account',
    });
}

/** Stands in a mail; its id is kept with what it allows. */
export async function newCode({ jwts }: Deps['accounts'], audience: 'verify' | 'reset', until: number) {
  const codeId = randomUUID();
  return { codeId, code: await jwts.sign(audience, { id: codeId, userId: 0 }, new Date(until)) };
}

export const signUp = endpoint('POST auth/sign-up', {
  id: 'signUp',
  summary: 'Sign up',
  body: closed({ email: Email, password: Password, ...Names }),
  description:
    'Creates a pending account and sends a mail with a code for `auth/verify`. The answer is the same for an ' +
    'address that already has an account. 403 if the operator has closed sign-up or configured no mail.',
  answer: {
    status: 201,
    description: 'A mail is being sent.',
    schema: closed({ email: Type.String(), status: Type.Literal('pending') }),
  },
  async work({ accounts, store }, ctx, asked) {
    const { settings, attempts, passwords } = accounts;
    checkOffered(settings);
    const { email, password, 'first-name': firstName = '', 'last-name': lastName = '' } = asked;
    await attempts.take('sign-up:address', { address: remoteIp(ctx, settings.trustedHops) });
    await attempts.take('mail:account', { account: email });
    const { codeId, code } = await newCode(accounts, 'verify', store.clock.now() + VERIFY_MS);
    const [passwordHash, verify, known] = [
      await passwords.hash(password),
      await accounts.sealMail(verifyMail(settings.publicUrl, code)),
      await accounts.sealMail(knownMail(settings.publicUrl)),
    ];
    await store.signUp({
      email,
      passwordHash,
      firstName,
      lastName,
      permissions: USER_PERMISSIONS,
      codeId,
      codeMs: VERIFY_MS,
      verifyMail: { ...verify, recipient: email },
      knownMail: { ...known, recipient: email },
    });
    accounts.mailsWait();
    return { email, status: 'pending' as const };
  },
});

const RedeemedAnswer = closed({ success: Type.Literal(true), email: Type.String(), status: Type.String() });

const NOT_VALID = 'is not valid, was used before, or has expired';

/** Of the code of a mail. */
async function claimsOf(
  { settings, attempts, jwts }: Deps['accounts'],
  ctx: Context,
  of: 'verify' | 'reset',
  code: string,
) {
  checkPasswords(settings);
  await attempts.take('code:address', { address: remoteIp(ctx, settings.trustedHops) });
  const claims = await jwts.verify(of, code);
  if (!claims) throw invalid(`${of}-token`, NOT_VALID);
  return claims;
}

export const verify = endpoint('POST auth/verify', {
  id: 'verify',
  summary: 'Confirm an e-mail address',
  body: closed({
    'verify-token': Jwt,
    password: Type.Optional({
      ...Password,
      description: '6 to 72 characters. Replaces the password of the sign-up. Default: unchanged.',
    }),
  }),
  description:
    'Takes the code from the mail. Earlier sessions of the account end. Send `password` to replace a password that ' +
    'somebody else chose at sign-up. The header `X-Recaptcha-Token` is accepted and ignored.',
  answer: { description: 'The account is active and has a first API token.', schema: RedeemedAnswer },
  async work(deps, ctx, { 'verify-token': code, password }) {
    const { accounts } = deps;
    const claims = await claimsOf(accounts, ctx, 'verify', code);
    const hash = password === undefined ? null : await accounts.passwords.hash(password);
    const redeemed = await withEntry(deps, ctx, async (store) => {
      const user = await store.redeemVerify(claims.id, hash);
      if (!user) throw invalid('verify-token', NOT_VALID);
      const { userId, rootId, status } = user;
      await makeApiToken({ ...accounts, store }, { userId, name: 'default' });
      note(ctx, {
        subject: `user/${userId}`,
        actor: { id: userId, rootId },
        changes: [{ field: 'status', before: 'pending', after: status }, ...secrets('changed', 'password', 'sessions')],
      });
      return user;
    });
    return { success: true as const, email: redeemed.email, status: redeemed.status };
  },
});

const RESET_MS = 3_600_000;

export const reset = endpoint('POST auth/reset', {
  id: 'askReset',
  summary: 'Request a password reset',
  body: closed({ email: Email }),
  description: 'Sends a mail with a code for `auth/reset/confirm`, if the account exists.',
  answer: {
    description: 'If the account exists, a mail is being sent.',
    schema: closed({ success: Type.Literal(true) }),
  },
  async work({ accounts, store }, ctx, { email }) {
    const { settings, attempts } = accounts;
    checkPasswords(settings);
    if (!settings.mail) throw new ApiError('no-mail');
    await attempts.take('reset:address', { address: remoteIp(ctx, settings.trustedHops) });
    await attempts.take('mail:account', { account: email });
    const { codeId, code } = await newCode(accounts, 'reset', store.clock.now() + RESET_MS);
    const mail = await accounts.sealMail(resetMail(settings.publicUrl, code));
    await store.askReset({ email, codeId, codeMs: RESET_MS, mail: { ...mail, recipient: email } });
    accounts.mailsWait();
    return { success: true as const };
  },
});

export const resetConfirm = endpoint('POST auth/reset/confirm', {
  id: 'confirmReset',
  summary: 'Reset a password',
  body: closed({ 'reset-token': Jwt, 'new-password': Password }),
  description: 'Takes the code from the mail, which is valid once. Activates an invited account.',
  answer: {
    description:
      'The password is set. All sessions and their JWTs have ended; API tokens stay valid until they are revoked.',
    schema: RedeemedAnswer,
  },
  async work(deps, ctx, { 'reset-token': code, 'new-password': password }) {
    const { accounts } = deps;
    const claims = await claimsOf(accounts, ctx, 'reset', code);
    const hash = await accounts.passwords.hash(password);
    const redeemed = await withEntry(deps, ctx, async (store) => {
      const user = await store.redeemReset(claims.id, hash);
      if (!user) throw invalid('reset-token', NOT_VALID);
      note(ctx, {
        subject: `user/${user.userId}`,
        actor: { id: user.userId, rootId: user.rootId },
        changes: secrets('changed', 'password', 'sessions'),
      });
      return user;
    });
    await accounts.attempts.forget('password:account', { account: redeemed.userId });
    return { success: true as const, email: redeemed.email, status: redeemed.status };
  },
});
