/** `POST auth/api-token`: creates a token for the caller. */
import Type from 'typebox';
import { makeApiToken, MOST_TOKENS } from '../../../accounts/make_token.ts';
import { NAMED_ONLY } from '../../../../platform/store/permissions.ts';
import { callerOf, type Context } from '../../http/context.ts';
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

async function make({ accounts, store }: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const { name = '', ttl = null, permissions, limits = {} } = checkedBy(Body, ctx);
  checkGiven(caller, permissions);
  await accounts.attempts.take('token:account', { account: caller.rootUserId });
  const owner = await store.findUser(caller.userId);
  if (!owner) throw inside('the calling user no longer exists');
  const all = owner.permissions.every((one) => owner.restrictions.includes(one) || caller.permissions.includes(one));
  // For a narrowed credential, null means the permissions of the credential.
  const most = all ? null : caller.permissions;
  const byDefault = (most ?? owner.permissions).filter((one) => one !== NAMED_ONLY);
  const made = await makeApiToken(
    { store, box: accounts.box, settings: accounts.settings },
    {
      userId: caller.userId,
      name,
      permissions: permissions === undefined ? byDefault : (permissions ?? most),
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
  // It has already ended, together with the credential that created it.
  if (!shown) throw ended();
  ctx.status = 201;
  ctx.body = shown;
}

export const makeToken = endpoint(
  'POST auth/api-token',
  {
    id: 'makeApiToken',
    tag: 'auth',
    summary: 'Create an API token',
    body: Body,
    also: [409],
    description:
      'Returns the token and its webhook secret. The operator decides whether the token can be shown again. ' +
      'A token created with the JWT of a sign-in is independent of it. A token created with an API token, or ' +
      'with a JWT from `auth/jwt`, ends with that credential at the latest. ' +
      '409 if the user already has 100 tokens, or the account has reached `accounts.maxTokens`.',
    answer: { status: 201, description: 'The token.', schema: ShownToken },
  },
  make,
);
