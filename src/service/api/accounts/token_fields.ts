/** The fields of an API token: those that callers set, and those that its owner sees. */
import Type, { type Static } from 'typebox';
import { latestEnd, type Caller } from '../../accounts/caller.ts';
import { NAMED_ONLY } from '../../../platform/store/permissions.ts';
import { closed, component, orNull, PLAIN } from '../http/request_fields.ts';
import { ApiError, invalid } from '../errors.ts';
import { Permissions } from './account_fields.ts';
import { AskedLimits, LimitsInForce, limitsInForce, ShownLimits, shownLimits } from './account_limits.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { ApiTokenRecord } from '../../../platform/store/api_tokens.ts';
import type { Limits } from '../../../base/limits.ts';
import type { Store } from '../../../platform/store/store.ts';

const MAX_TTL_MS = 3_155_760_000_000;

export const TokenFields = {
  name: Type.Optional(Type.String({ maxLength: 100, pattern: PLAIN, description: 'A name for the token.' })),
  ttl: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1000,
        maximum: MAX_TTL_MS,
        description: 'Validity in milliseconds from now; null: until it is revoked.',
      }),
    ),
  ),
  permissions: Type.Optional(
    orNull({
      ...Permissions,
      description:
        'The subset of the permissions of its user; null: all of them. A new token without this field gets all but ' +
        `\`${NAMED_ONLY}\`.`,
    }),
  ),
  limits: Type.Optional(closed(AskedLimits, { description: "Limits below the user's; higher values have no effect." })),
};

/** A new token cannot have more permissions than the credential that creates it. */
export function checkGiven(
  caller: Pick<Caller, 'permissions'>,
  permissions: readonly string[] | null | undefined,
): void {
  const beyond = permissions?.find((name) => !caller.permissions.includes(name));
  if (beyond !== undefined)
    throw new ApiError('beyond-caller', {
      text: `permissions: you cannot grant ${beyond}, which the calling credential lacks`,
    });
}

/** The token's expiry: no later than that of the credential that creates it, except for the JWT of a sign-in. */
export function expiryOf(
  caller: Pick<Caller, 'signedIn' | 'expiresAt'>,
  ttl: number | null | undefined,
  now: number,
): Date | null | undefined {
  if (ttl === undefined) return undefined;
  const end = ttl === null ? null : new Date(now + ttl);
  const latest = latestEnd(caller);
  if (latest !== null && (end === null || end > latest))
    throw invalid('ttl', `must end no later than the calling credential, ${latest.toISOString()}`);
  return end;
}

const time = Type.String({ format: 'date-time' });
const listed = {
  id: Type.Integer(),
  'user-id': Type.Integer(),
  name: Type.String(),
  permissions: orNull(Type.Array(Type.String(), { description: 'Absent: all permissions of the user.' })),
  limits: ShownLimits,
  'limits-in-force': LimitsInForce,
  default: Type.Boolean({ description: 'The token of jobs made with kubectl.' }),
  expires: orNull(time),
  created: time,
  updated: time,
};

export const ShownListedToken = component('ListedApiToken', listed);
export const ShownToken = component('ApiToken', {
  ...listed,
  token: orNull(Type.String({ description: 'The token itself; only for its owner, if tokens can be shown.' })),
  'webhook-secret': orNull(
    Type.String({ description: 'The secret that signs webhooks of its requests; only for its owner.' }),
  ),
});

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
