/**
 * `POST user/current` and `POST user/{id}`: creates a sub-user of the caller, or of a user that they may change. The
 * new user chooses a password through a mail.
 */
import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { notToGive, subUserDefaults } from '../../../accounts/authority.ts';
import { inviteMail } from '../../../accounts/mail_texts.ts';
import { makeApiToken } from '../../../accounts/make_token.ts';
import type { UserRecord } from '../../../../platform/store/users.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, inside } from '../../errors.ts';
import { accountFull } from '../account_full.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Email, Id, Permissions, PersonName } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { ShownUser, shownUser } from '../shown_user.ts';
import { findOwn } from './find.ts';

const Body = Type.Object(
  {
    email: Email,
    'first-name': Type.Optional(PersonName),
    'last-name': Type.Optional(PersonName),
    permissions: Type.Optional(Permissions),
    restrictions: Type.Optional(Permissions),
  },
  { additionalProperties: false },
);
const Answer = Type.Object({ user: ShownUser }, { additionalProperties: false });
const CODE_MS = 7 * 86_400_000;

async function invite({ accounts, store }: Deps, user: UserRecord, by: UserRecord): Promise<void> {
  const codeId = randomUUID();
  const code = await accounts.jwts.sign('reset', { id: codeId, userId: 0 }, new Date(store.clock.now() + CODE_MS));
  await store.addResetCode(user.id, codeId, CODE_MS);
  await store.addMail({
    ...(await accounts.sealMail(inviteMail(accounts.settings.publicUrl, code, by.email))),
    userId: user.id,
    recipient: user.email,
  });
  accounts.mailsWait();
}

async function makeUnder(deps: Deps, ctx: Context, parentId: number): Promise<void> {
  const { accounts, store } = deps;
  const caller = callerOf(ctx);
  const {
    email,
    'first-name': firstName = '',
    'last-name': lastName = '',
    permissions = subUserDefaults(caller),
    restrictions = [],
  } = checkedBy(Body, ctx);
  const beyond = notToGive(caller, permissions);
  if (beyond !== undefined) throw new ApiError('beyond-caller', { text: `permissions: you cannot grant ${beyond}` });
  // This reveals whether an address has an account, so it is limited.
  await accounts.attempts.take('invite:account', { account: caller.rootUserId });
  const mails = accounts.settings.mail !== null;
  const { mostSubUsers, mostTokens } = accounts.settings;
  const user = await store.makeSubUser(
    { email, firstName, lastName, status: mails ? 'pending' : 'active', parentId, permissions, restrictions },
    { subUsers: mostSubUsers, tokens: mostTokens },
  );
  if (user === 'sub-users' || user === 'tokens') throw accountFull(user, accounts.settings);
  if (user === 'email-taken') throw new ApiError('email-taken', { field: 'email' });
  await makeApiToken({ store, box: accounts.box, settings: accounts.settings }, { userId: user.id, name: 'default' });
  if (mails) {
    const by = await store.findUser(caller.userId);
    if (!by) throw inside('the calling user no longer exists');
    await invite(deps, user, by);
  }
  ctx.status = 201;
  ctx.body = { user: shownUser(user) };
}

const DESCRIPTION =
  'The new user is `pending` until they choose a password through the mail that they get. Without mail they are ' +
  '`active` at once; set their password with `PUT auth/{id}/password`. ' +
  '409 if the address cannot be used, or the account has reached `accounts.maxSubUsers` or `accounts.maxTokens`.';
const answer = { status: 201, description: 'The sub-user.', schema: Answer };
export const makeSubUser = endpoint(
  'POST user/current',
  {
    id: 'makeSubUser',
    tag: 'users',
    summary: 'Create a sub-user',
    body: Body,
    description: DESCRIPTION,
    also: [409],
    answer,
  },
  (deps, ctx) => makeUnder(deps, ctx, callerOf(ctx).userId),
);
export const makeSubUserOf = endpoint(
  'POST user/:id',
  {
    id: 'makeSubUserOf',
    tag: 'users',
    summary: 'Create a sub-user of a user',
    params: { id: Id },
    body: Body,
    description: DESCRIPTION,
    also: [409],
    answer,
  },
  async (deps, ctx) => makeUnder(deps, ctx, (await findOwn(deps, ctx, callerOf(ctx))).id),
);
