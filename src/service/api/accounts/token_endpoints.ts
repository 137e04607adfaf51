/** API tokens: their fields, as callers set them and as the owner sees them; read, list, create, change and revoke. */
import Type, { type Static } from 'typebox';
import type { Limits } from '../../../base/limits.ts';
import { endsNoLater, mayChange, reachesNoFurther } from '../../accounts/authority.ts';
import { type Caller, latestEnd, seenBy } from '../../accounts/caller.ts';
import { type ApiTokenChange, type ApiTokenRecord, TOKEN_SORTS } from '../../../platform/store/api_tokens.ts';
import type { StoreCalls } from '../../../platform/store/store.ts';
import { isToken, TOKEN_PATTERN, tokenSha256 } from '../../../platform/store/token_text.ts';
import { callerOf, type Context, paramOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, credentialEnded, inside, invalid, notFound, orNotFound } from '../errors.ts';
import { changesOf, note, secrets, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import {
  closed,
  component,
  flag,
  ids,
  listAnswer,
  listSchema,
  orNull,
  pageOf,
  Pagination,
  PLAIN,
  sortBy,
  time,
} from '../http/request_fields.ts';
import { keptToken, makeApiToken, MOST_TOKENS } from '../../accounts/make_token.ts';
import { NAMED_ONLY } from '../../../platform/store/permissions.ts';
import { Permissions } from './account_fields.ts';
import {
  accountFull,
  amount,
  AskedLimits,
  changedLimits,
  LimitsInForce,
  limitsInForce,
  NO_LIMITS,
  ShownLimits,
  shownLimits,
} from './account_limits.ts';
import { newTokenText, newWebhookSecret } from '../../accounts/token_text.ts';

const MAX_TTL_MS = 3_155_760_000_000;

const TokenFields = {
  name: Type.Optional(Type.String({ maxLength: 100, pattern: PLAIN, description: 'A name for the token.' })),
  ttl: amount(MAX_TTL_MS, 'Validity in milliseconds from now; null: until it is revoked.', { minimum: 1000 }),
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
function checkGiven(caller: Caller, permissions: readonly string[] | null | undefined): void {
  const beyond = permissions?.find((name) => !caller.permissions.includes(name));
  if (beyond !== undefined)
    throw new ApiError('beyond-caller', {
      text: `permissions: you cannot grant ${beyond}, which the calling credential lacks`,
    });
}

/** The token's expiry: no later than that of the credential that creates it, except for the JWT of a sign-in. */
function expiryOf(caller: Caller, ttl: number | null | undefined, now: number): Date | null | undefined {
  if (ttl === undefined) return undefined;
  const end = ttl === null ? null : new Date(now + ttl);
  const latest = latestEnd(caller);
  if (latest !== null && (end === null || end > latest))
    throw invalid('ttl', `must end no later than the calling credential, ${latest.toISOString()}`);
  return end;
}

const SHOWN = {
  id: Type.Integer(),
  'user-id': Type.Integer(),
  name: Type.String(),
  permissions: orNull(Type.Array(Type.String(), { description: 'Absent: all permissions of the user.' })),
  limits: ShownLimits,
  'limits-in-force': LimitsInForce,
  default: Type.Boolean({ description: 'The token of jobs made with kubectl.' }),
  expires: orNull(time()),
  created: time(),
  updated: time(),
};

const ShownListedToken = component('ListedApiToken', SHOWN);
const ShownToken = component('ApiToken', {
  ...SHOWN,
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

const auditedToken = (token: ApiTokenRecord) => ({
  name: token.name,
  permissions: token.permissions,
  expires: token.expiresAt?.toISOString() ?? null,
  ...shownLimits(token),
});

const secretsIn = (shown: Static<typeof ShownToken>): string[] =>
  (['token', 'webhook-secret'] as const).filter((name) => shown[name] !== null);

interface LimitsOf {
  store: Pick<StoreCalls, 'tokenLimits'>;
}

/** Tokens that were revoked meanwhile are left out. */
async function listedTokens({ store }: LimitsOf, tokens: readonly ApiTokenRecord[]) {
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
async function shownToken(
  deps: LimitsOf & Pick<Deps, 'accounts'>,
  token: ApiTokenRecord,
  to: { owner: boolean; fresh?: string | undefined },
): Promise<Static<typeof ShownToken> | null> {
  const { box, settings } = deps.accounts;
  const kept =
    to.owner && settings.tokensViewable && token.sealed ? await box.openKept(token.sealed, 'token', token.id) : null;
  const secret = to.owner && token.webhookSecret ? await box.openKept(token.webhookSecret, 'webhook', token.id) : null;
  const [shown] = await listedTokens(deps, [token]);
  return shown ? { ...shown, token: to.fresh ?? kept, 'webhook-secret': secret } : null;
}

const ID = /^[1-9][0-9]{0,14}$/;

/**
 * `reachable`: the caller's own token without permissions that the caller lacks, and without a later expiry. It may be
 * shown, rotated and extended.
 */
async function findToken({ store }: Deps, ctx: Context, caller: Caller) {
  const given = paramOf(ctx);
  if (!isToken(given) && !ID.test(given)) throw notFound();
  const key = isToken(given) ? { sha256: tokenSha256(given) } : { id: Number(given) };
  const token = orNotFound(await store.readToken(key));
  const owner = orNotFound(await store.findUser(token.userId, seenBy(caller)));
  const own = owner.id === caller.userId;
  return {
    token,
    owner,
    own,
    reachable: own && reachesNoFurther(caller, owner, token.permissions) && endsNoLater(caller, token.expiresAt),
  };
}

const TokenParam = Type.String({
  description: 'The id of the token, or the token itself.',
  pattern: `^([0-9]{1,16}|${TOKEN_PATTERN})$`,
});

const subjectOf = ({ id }: { id: number }): string => `api-token/${id}`;

export const readToken = endpoint('GET auth/api-token/:id', {
  id: 'readApiToken',
  summary: 'Read an API token',
  params: { id: TokenParam },
  answer: {
    description:
      'The token. `token` and `webhook-secret` are left out for anyone but the owner, and for a credential of the ' +
      'owner that has fewer permissions or ends earlier.',
    schema: ShownToken,
  },
  async work(deps, ctx) {
    const { token, reachable } = await findToken(deps, ctx, callerOf(ctx));
    const shown = orNotFound(await shownToken(deps, token, { owner: reachable }));
    const seen = secretsIn(shown);
    if (seen.length > 0) note(ctx, { subject: subjectOf(token), changes: secrets('shown', ...seen) });
    return shown;
  },
});

const FIELDS = Object.keys(TOKEN_SORTS) as (keyof typeof TOKEN_SORTS)[];

export const listTokens = endpoint('GET auth/api-token', {
  id: 'listApiTokens',
  summary: 'List API tokens',
  query: closed({
    'user-id': ids('Tokens of these users. Default: of the caller.'),
    pagination: Pagination,
    sort: sortBy(FIELDS, 'id', 'asc'),
  }),
  also: [404],
  answer: { description: 'API tokens that are not revoked.', schema: listSchema('api-tokens', ShownListedToken) },
  async work(deps, ctx, { 'user-id': asked, pagination, sort }) {
    const { store } = deps;
    const caller = callerOf(ctx);
    const owners = asked.length === 0 ? [caller.userId] : asked;
    for (const id of owners) if (id !== caller.userId) orNotFound(await store.findUser(id, seenBy(caller)));
    const { rows: tokens, total } = await store.listTokens({ owners, sort, ...pageOf(pagination) });
    const echo = { filter: { 'user-id': asked }, pagination, sort };
    return listAnswer('api-tokens', await listedTokens(deps, tokens), echo, { total });
  },
});

export const makeToken = endpoint('POST auth/api-token', {
  id: 'makeApiToken',
  summary: 'Create an API token',
  body: closed(TokenFields),
  also: [409],
  description:
    'Returns the token and its webhook secret. The operator decides whether the token can be shown again. ' +
    'A token created with the JWT of a sign-in is independent of it. A token created with an API token, or ' +
    'with a JWT from `auth/jwt`, ends with that credential at the latest. ' +
    '409 if the user already has 100 tokens, or the account has reached `accounts.maxTokens`.',
  answer: { status: 201, description: 'The token.', schema: ShownToken },
  async work(deps, ctx, { name = '', ttl = null, permissions, limits = {} }) {
    const { accounts, store } = deps;
    const caller = callerOf(ctx);
    checkGiven(caller, permissions);
    await accounts.attempts.take('token:account', { account: caller.rootUserId });
    const owner = await store.findUser(caller.userId);
    if (!owner) throw inside('the calling user no longer exists');
    const all = owner.permissions.every((one) => owner.restrictions.includes(one) || caller.permissions.includes(one));
    // For a narrowed credential, null means the permissions of the credential.
    const most = all ? null : caller.permissions;
    const byDefault = (most ?? owner.permissions).filter((one) => one !== NAMED_ONLY);
    const expiresAt = expiryOf(caller, ttl, store.clock.now()) ?? null;
    const [made, token] = await withEntry(deps, ctx, async (calls) => {
      const one = await makeApiToken(
        { ...accounts, store: calls },
        {
          userId: caller.userId,
          name,
          permissions: permissions === undefined ? byDefault : (permissions ?? most),
          expiresAt,
          ...changedLimits(limits, NO_LIMITS),
          ...(caller.signedIn ? {} : { madeBy: caller }),
        },
      );
      if (one === 'maker-ended') throw credentialEnded();
      if (one === 'too-many')
        throw new ApiError('too-many-tokens', { text: `the user has reached the limit of ${MOST_TOKENS} API tokens` });
      if (one === 'account-full') throw accountFull('tokens', accounts.settings);
      const record = await calls.readToken({ id: one.id });
      const changes = record ? changesOf(null, auditedToken(record)) : [];
      note(ctx, { subject: subjectOf(one), changes: [...changes, ...secrets('shown', 'token', 'webhook-secret')] });
      return [one, record] as const;
    });
    const shown = token && (await shownToken(deps, token, { owner: true, fresh: made.token }));
    // It has already ended, together with the credential that created it.
    if (!shown) throw credentialEnded();
    return shown;
  },
});

const ChangeBody = closed({
  ...TokenFields,
  rotate: flag(
    false,
    'Replace the token. The old one stops working at once, with the JWTs and tokens created with it. Owner only.',
  ),
  'rotate-webhook-secret': flag(false, 'Replace the secret. Owner only.'),
});

async function changeOne(deps: Deps, ctx: Context) {
  const { accounts, store } = deps;
  const caller = callerOf(ctx);
  const { token, owner, own, reachable } = await findToken(deps, ctx, caller);
  if (own ? !reachable : !mayChange(caller, owner))
    throw new ApiError(own ? 'beyond-caller' : 'not-yours', {
      text: own
        ? 'this token has more permissions than the calling credential, or ends later'
        : 'you cannot change this token',
    });
  const asked = checkedBy(ChangeBody, ctx);
  if ((asked.rotate || asked['rotate-webhook-secret']) && !own)
    throw new ApiError('not-yours', { text: 'only the owner can rotate a token' });
  if (asked.permissions !== undefined) {
    // Null means all permissions of the user, which a narrowed credential cannot grant.
    const all = owner.permissions.filter((name) => !owner.restrictions.includes(name));
    const wanted = asked.permissions ?? all;
    // What another's token has already is not granted: it may be narrowed.
    const held = own ? [] : (token.permissions ?? all);
    checkGiven(
      caller,
      wanted.filter((name) => !held.includes(name)),
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
  const rotated = [
    ...(fresh === undefined ? [] : ['token']),
    ...(asked['rotate-webhook-secret'] ? ['webhook-secret'] : []),
  ];
  return withEntry(deps, ctx, async (calls) => {
    const changed = orNotFound(await calls.changeToken(token.id, change));
    const shown = orNotFound(await shownToken({ accounts, store: calls }, changed, { owner: reachable, fresh }));
    note(ctx, {
      subject: subjectOf(token),
      changes: [
        ...changesOf(auditedToken(token), auditedToken(changed)),
        ...secrets('changed', ...rotated),
        ...secrets('shown', ...secretsIn(shown)),
      ],
    });
    return shown;
  });
}

export const changeToken = endpoint('PUT auth/api-token/:id', {
  id: 'changeApiToken',
  summary: 'Change or rotate an API token',
  params: { id: TokenParam },
  body: ChangeBody,
  description: 'Omitted fields keep their value.',
  answer: { description: 'The changed token.', schema: ShownToken },
  work: changeOne,
});

// Ends the token on every replica at once, with all credentials created with it.

export const revokeToken = endpoint('DELETE auth/api-token/:id', {
  id: 'revokeApiToken',
  summary: 'Revoke an API token',
  params: { id: TokenParam },
  also: [409],
  answer: { description: 'The token is revoked, with the JWTs and tokens created with it.' },
  async work(deps, ctx) {
    const caller = callerOf(ctx);
    const { token, owner, own } = await findToken(deps, ctx, caller);
    if (!own && !mayChange(caller, owner)) throw new ApiError('not-yours', { text: 'you cannot revoke this token' });
    if (token.isDefault) throw new ApiError('default-token');
    await withEntry(deps, ctx, async (store) => {
      if (!(await store.revokeToken(token.id))) throw notFound();
      note(ctx, { subject: subjectOf(token), changes: changesOf(auditedToken(token), null) });
    });
  },
});
