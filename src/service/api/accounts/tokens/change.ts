/** `PUT auth/api-token/{id}`: changes the given fields, and can replace the token's text or its webhook secret. */
import Type from 'typebox';
import { mayChange } from '../../../accounts/authority.ts';
import { keptToken } from '../../../accounts/make_token.ts';
import { newTokenText, newWebhookSecret } from '../../../accounts/token_text.ts';
import type { ApiTokenChange } from '../../../../platform/store/api_tokens.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';
import { changedLimits } from '../limits.ts';
import { ShownToken, shownToken } from '../shown_token.ts';
import { checkGiven, expiryOf, TokenFields } from './fields.ts';
import { findToken } from './find.ts';
import { TokenParam } from './read.ts';

const Body = Type.Object(
  {
    ...TokenFields,
    rotate: Type.Boolean({
      default: false,
      description:
        'Replace the token. The old one stops working at once, with the JWTs and tokens created with it. Owner only.',
    }),
    'rotate-webhook-secret': Type.Boolean({
      default: false,
      description: 'Replace the secret. Owner only.',
    }),
  },
  { additionalProperties: false },
);

async function changeOne(deps: Deps, ctx: Context): Promise<void> {
  const { accounts, store } = deps;
  const caller = callerOf(ctx);
  const { token, owner, own, reachable } = await findToken(deps, ctx, caller);
  if (own ? !reachable : !mayChange(caller, owner))
    throw new ApiError(own ? 'beyond-caller' : 'not-yours', {
      text: own
        ? 'this token has more permissions than the calling credential, or ends later'
        : 'you cannot change this token',
    });
  const asked = checkedBy(Body, ctx);
  if ((asked.rotate || asked['rotate-webhook-secret']) && !own)
    throw new ApiError('not-yours', { text: 'only the owner can rotate a token' });
  if (own) {
    checkGiven(caller, asked.permissions);
    // Null means all permissions of the user, which a narrowed credential cannot grant.
    if (asked.permissions === null)
      checkGiven(
        caller,
        owner.permissions.filter((name) => !owner.restrictions.includes(name)),
      );
  }
  const expiresAt = expiryOf(caller, asked.ttl, store.clock.now());
  const fresh = asked.rotate ? newTokenText(accounts.settings.boxKeys()) : undefined;
  const change: ApiTokenChange = {
    ...(asked.name === undefined ? {} : { name: asked.name }),
    ...(asked.permissions === undefined ? {} : { permissions: asked.permissions }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(asked.limits === undefined ? {} : changedLimits(asked.limits, token)),
    ...(fresh === undefined ? {} : await keptToken(accounts, token.id, fresh)),
    ...(asked['rotate-webhook-secret']
      ? { webhookSecret: await accounts.box.seal(newWebhookSecret(), 'webhook', token.id) }
      : {}),
  };
  const changed = await store.changeToken(token.id, change);
  if (!changed) throw notFound();
  const shown = await shownToken(deps, changed, { owner: reachable, fresh });
  if (!shown) throw notFound();
  ctx.body = shown;
}

export const changeToken = endpoint(
  'PUT auth/api-token/:id',
  {
    id: 'changeApiToken',
    tag: 'auth',
    summary: 'Change or rotate an API token',
    params: { id: TokenParam },
    body: Body,
    description: 'Omitted fields keep their value.',
    answer: { description: 'The changed token.', schema: ShownToken },
  },
  changeOne,
);
