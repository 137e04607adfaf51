/**
 * Signing up creates a pending account; the code from its mail activates it. Response and cost are the same if the
 * account exists.
 */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { knownMail, verifyMail } from '../../accounts/mail_texts.ts';
import { USER_PERMISSIONS } from '../../accounts/caller.ts';
import { type Context, remoteIp } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, Jwt, Names, Password } from './account_fields.ts';
import { checkedBy } from '../http/read_input.ts';
import { closed } from '../http/request_fields.ts';
import { makeApiToken } from '../../accounts/make_token.ts';

const SignUpBody = closed({ email: Email, password: Password, ...Names });
const SignUpAnswer = closed({ email: Type.String(), status: Type.Literal('pending') });

const CODE_MS = 86_400_000;

function checkOffered({ signUp, mail }: Deps['accounts']['settings']): void {
  if (!signUp) throw new ApiError('sign-up-closed');
  if (!mail)
    throw new ApiError('no-mail', {
      text: 'sign-up is closed, because no mail is configured; ask an administrator for an account',
    });
}

async function openAccount({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { settings, attempts, jwts, passwords } = accounts;
  checkOffered(settings);
  const { email, password, 'first-name': firstName = '', 'last-name': lastName = '' } = checkedBy(SignUpBody, ctx);
  await attempts.take('sign-up:address', { address: remoteIp(ctx, settings.trustedHops) });
  await attempts.take('mail:account', { account: email });
  const codeId = randomUUID();
  const code = await jwts.sign('verify', { id: codeId, userId: 0 }, new Date(store.clock.now() + CODE_MS));
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
    codeMs: CODE_MS,
    verifyMail: { ...verify, recipient: email },
    knownMail: { ...known, recipient: email },
  });
  accounts.mailsWait();
  ctx.status = 201;
  ctx.body = { email, status: 'pending' };
}

export const signUp = endpoint(
  'POST auth/sign-up',
  {
    id: 'signUp',
    summary: 'Sign up',
    body: SignUpBody,
    description:
      'Creates a pending account and sends a mail with a code for `auth/verify`. The answer is the same for an ' +
      'address that already has an account. 403 if the operator has closed sign-up or configured no mail.',
    answer: { status: 201, description: 'A mail is being sent.', schema: SignUpAnswer },
  },
  openAccount,
);

const VerifyBody = closed({
  'verify-token': Jwt,
  password: Type.Optional({
    ...Password,
    description: '6 to 72 characters. Replaces the password of the sign-up. Default: unchanged.',
  }),
});
const VerifyAnswer = closed({ success: Type.Literal(true), email: Type.String(), status: Type.String() });

export const NOT_VALID = 'is not valid, was used before, or has expired';

async function redeemCode({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { 'verify-token': code, password } = checkedBy(VerifyBody, ctx);
  await accounts.attempts.take('code:address', { address: remoteIp(ctx, accounts.settings.trustedHops) });
  const claims = await accounts.jwts.verify('verify', code);
  const redeemed =
    claims &&
    (await store.redeemVerify(claims.id, password === undefined ? null : await accounts.passwords.hash(password)));
  if (!redeemed) throw invalid('verify-token', NOT_VALID);
  await makeApiToken(
    { store, box: accounts.box, settings: accounts.settings },
    { userId: redeemed.userId, name: 'default' },
  );
  ctx.body = { success: true, email: redeemed.email, status: redeemed.status };
}

export const verify = endpoint(
  'POST auth/verify',
  {
    id: 'verify',
    summary: 'Confirm an e-mail address',
    body: VerifyBody,
    description:
      'Takes the code from the mail. Earlier sessions of the account end. Send `password` to replace a password that ' +
      'somebody else chose at sign-up. The header `X-Recaptcha-Token` is accepted and ignored.',
    answer: { description: 'The account is active and has a first API token.', schema: VerifyAnswer },
  },
  redeemCode,
);
