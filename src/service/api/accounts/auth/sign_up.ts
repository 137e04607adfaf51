/**
 * `POST auth/sign-up`: creates a pending account, until its mail is confirmed. Response and cost are the same if it
 * exists.
 */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { knownMail, verifyMail } from '../../../accounts/mail_texts.ts';
import { USER_PERMISSIONS } from '../../../accounts/caller.ts';
import { type Context, remoteIp } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Email, Password, PersonName } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';

const Body = Type.Object(
  { email: Email, password: Password, 'first-name': Type.Optional(PersonName), 'last-name': Type.Optional(PersonName) },
  { additionalProperties: false },
);
const Answer = Type.Object({ email: Type.String(), status: Type.Literal('pending') }, { additionalProperties: false });

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
  const { email, password, 'first-name': firstName = '', 'last-name': lastName = '' } = checkedBy(Body, ctx);
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
    tag: 'auth',
    summary: 'Sign up',
    body: Body,
    description:
      'Creates a pending account and sends a mail with a code for `auth/verify`. The answer is the same for an ' +
      'address that already has an account. 403 if the operator has closed sign-up or configured no mail.',
    answer: { status: 201, description: 'A mail is being sent.', schema: Answer },
  },
  openAccount,
);
