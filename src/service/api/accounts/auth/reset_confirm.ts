/** `POST auth/reset/confirm`: sets a new password with the code from the mail. Every session ends. */
import Type from 'typebox';
import { type Context, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { invalid } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Jwt, Password } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { NOT_VALID } from './verify.ts';

const Body = Type.Object({ 'reset-token': Jwt, 'new-password': Password }, { additionalProperties: false });
const Answer = Type.Object(
  { success: Type.Literal(true), email: Type.String(), status: Type.String() },
  { additionalProperties: false },
);

async function setNew({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { 'reset-token': code, 'new-password': password } = checkedBy(Body, ctx);
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
    tag: 'auth',
    summary: 'Reset a password',
    body: Body,
    description: 'Takes the code from the mail, which is valid once. Activates an invited account.',
    answer: {
      description:
        'The password is set. All sessions and their JWTs have ended; API tokens stay valid until they are revoked.',
      schema: Answer,
    },
  },
  setNew,
);
