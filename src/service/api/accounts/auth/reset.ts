/** `POST auth/reset`: mails a code for a forgotten password. Response and cost are the same if there is no account. */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { resetMail } from '../../../accounts/mail_texts.ts';
import { type Context, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Email } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';

const Body = Type.Object({ email: Email }, { additionalProperties: false });
const Answer = Type.Object({ success: Type.Literal(true) }, { additionalProperties: false });
const CODE_MS = 3_600_000;

async function sendCode({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const { settings, attempts, jwts } = accounts;
  if (!settings.mail) throw new ApiError('no-mail');
  const { email } = checkedBy(Body, ctx);
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
    tag: 'auth',
    summary: 'Request a password reset',
    body: Body,
    description: 'Sends a mail with a code for `auth/reset/confirm`, if the account exists.',
    answer: { description: 'If the account exists, a mail is being sent.', schema: Answer },
  },
  sendCode,
);
