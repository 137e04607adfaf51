/** An API token as its owner sees it. */
import Type, { type Static } from 'typebox';
import type { Accounts } from '../../accounts/accounts.ts';
import type { ApiTokenRecord } from '../../../platform/store/api_tokens.ts';
import type { Limits } from '../../../base/limits.ts';
import type { Store } from '../../../platform/store/store.ts';
import { LimitsInForce, limitsInForce, ShownLimits, shownLimits } from './limits.ts';

const time = Type.String({ format: 'date-time' });
const orNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description });
const listed = {
  id: Type.Integer(),
  'user-id': Type.Integer(),
  name: Type.String(),
  permissions: Type.Unsafe<string[] | null>({
    anyOf: [Type.Array(Type.String()), { type: 'null' }],
    description: 'Null: all permissions of the user.',
  }),
  limits: ShownLimits,
  'limits-in-force': LimitsInForce,
  default: Type.Boolean({ description: 'The token of jobs made with kubectl.' }),
  expires: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
  created: time,
  updated: time,
};

export const ShownListedToken = Type.Object(listed, { additionalProperties: false, title: 'ListedApiToken' });
export const ShownToken = Type.Object(
  {
    ...listed,
    token: orNull('The token itself; only for its owner, if tokens can be shown.'),
    'webhook-secret': orNull('The secret that signs webhooks of its requests; only for its owner.'),
  },
  { additionalProperties: false, title: 'ApiToken' },
);

const listedToken = (token: ApiTokenRecord, inForce: Limits): Static<typeof ShownListedToken> => ({
  id: token.id,
  'user-id': token.userId,
  name: token.name,
  permissions: token.permissions,
  limits: shownLimits(token),
  'limits-in-force': limitsInForce(inForce),
  default: token.isDefault,
  expires: token.expiresAt?.toISOString() ?? null,
  created: token.createdAt.toISOString(),
  updated: token.updatedAt.toISOString(),
});

/** Tokens that were revoked meanwhile are left out. */
export async function listedTokens(
  store: Pick<Store, 'tokenLimits'>,
  tokens: readonly ApiTokenRecord[],
): Promise<Static<typeof ShownListedToken>[]> {
  const records = await store.tokenLimits(tokens.map(({ id }) => id));
  return tokens.flatMap((token) => {
    const record = records.get(token.id);
    return record ? [listedToken(token, record.limits)] : [];
  });
}

/**
 * `fresh`: the text of a token created just now, which is shown regardless of the operator's setting. Null if the token
 * has ended meanwhile.
 */
export async function shownToken(
  {
    accounts: { box, settings },
    store,
  }: { accounts: Pick<Accounts, 'box' | 'settings'>; store: Pick<Store, 'tokenLimits'> },
  token: ApiTokenRecord,
  to: { owner: boolean; fresh?: string | undefined },
): Promise<Static<typeof ShownToken> | null> {
  const kept =
    to.owner && settings.tokensViewable && token.sealed ? await box.open(token.sealed, 'token', token.id) : null;
  const secret = to.owner && token.webhookSecret ? await box.open(token.webhookSecret, 'webhook', token.id) : null;
  const [shown] = await listedTokens(store, [token]);
  return shown ? { ...shown, token: to.fresh ?? kept, 'webhook-secret': secret } : null;
}
