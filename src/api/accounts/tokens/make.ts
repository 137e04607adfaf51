/** `POST auth/api-token`: a new token of the caller's. */
import Type from 'typebox';
import { makeApiToken, MOST_TOKENS } from '../../../accounts/make_token.ts';
import { callerOf, type Handler } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, inside } from '../../errors.ts';
import { accountFull } from '../account_full.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';
import { changedLimits, NO_LIMITS } from '../limits.ts';
import { ShownToken, shownToken } from '../shown_token.ts';
import { checkGiven, expiryOf, TokenFields } from './fields.ts';

const Body = Type.Object(TokenFields, { additionalProperties: false });

const ended = () => new ApiError('bad-credential', { text: 'the credential has ended' });

const makeWork =
  ({ accounts, store }: Deps): Handler =>
  async (ctx) => {
    const caller = callerOf(ctx);
    const { name = '', ttl = null, permissions = null, limits = {} } = checkedBy(Body, ctx);
    checkGiven(caller, permissions);
    const owner = await store.findUser(caller.userId);
    if (!owner) throw inside('the caller is gone');
    // By a narrowed credential, all that the user may is what the credential may.
    const given =
      permissions ??
      (owner.permissions.every((one) => owner.restrictions.includes(one) || caller.permissions.includes(one))
        ? null
        : caller.permissions);
    const made = await makeApiToken(
      { store, box: accounts.box, settings: accounts.settings },
      {
        userId: caller.userId,
        name,
        permissions: given,
        expiresAt: expiryOf(caller, ttl, store.clock.now()) ?? null,
        ...changedLimits(limits, NO_LIMITS),
        ...(caller.signedIn ? {} : { madeBy: caller }),
      },
    );
    if (made === 'maker-ended') throw ended();
    if (made === 'too-many')
      throw new ApiError('too-many-tokens', {
        text: `the user has reached the limit of ${MOST_TOKENS} API tokens`,
      });
    if (made === 'account-full') throw accountFull('tokens', accounts.settings);
    const token = await store.readToken({ id: made.id });
    const shown = token && (await shownToken({ accounts, store }, token, { owner: true, fresh: made.token }));
    // It has ended already: with the credential that made it.
    if (!shown) throw ended();
    ctx.status = 201;
    ctx.body = shown;
  };

export const makeToken = endpoint(
  'POST auth/api-token',
  {
    id: 'makeApiToken',
    tag: 'auth',
    summary: 'Make an API token',
    body: Body,
    also: [409],
    description:
      "The response holds the token and the secret of its webhooks. Whether the token can be shown again is the operator's choice. " +
      'A token made with the JWT of a sign-in belongs to the account. A token made with an API token, or with a JWT from `auth/jwt`, ends with that credential and lasts no longer. ' +
      '409 where the user has 100 already, or the account as many over all its users as the operator allows (`accounts.maxTokens`).',
    answer: { status: 201, description: 'The token.', schema: ShownToken },
  },
  (deps) => [makeWork(deps)],
);
