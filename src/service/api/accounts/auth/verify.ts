/** `POST auth/verify`: activates an account with the code from the mail, and creates its first API token. */
import Type from 'typebox';
import { makeApiToken } from '../../../accounts/make_token.ts';
import { type Context, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { invalid } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Jwt, Password } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';

const Body = Type.Object(
  {
    'verify-token': Jwt,
    password: Type.Optional({
      ...Password,
      description: '6 to 72 characters. Replaces the password of the sign-up. Default: unchanged.',
    }),
  },
  { additionalProperties: false },
);
const Answer = Type.Object(
  { success: Type.Literal(true), email: Type.String(), status: Type.String() },
  { additionalProperties: false },
);

export const NOT_VALID = 'is not valid, was used before, or has expired';

async function redeemCode({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { 'verify-token': code, password } = checkedBy(Body, ctx);
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
    tag: 'auth',
    summary: 'Confirm an e-mail address',
    body: Body,
    description:
      'Takes the code from the mail. Earlier sessions of the account end. Send `password` to replace a password that ' +
      'somebody else chose at sign-up. The header `X-Recaptcha-Token` is accepted and ignored.',
    answer: { description: 'The account is active and has a first API token.', schema: Answer },
  },
  redeemCode,
);
