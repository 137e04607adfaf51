/**
 * `GET auth/api-token`: tokens of the caller, or of users that the caller may see. Never includes the tokens' texts.
 */
import Type from 'typebox';
import { seesEveryone } from '../../../accounts/caller.ts';
import { TOKEN_SORTS } from '../../../../platform/store/api_tokens.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';
import { ids, listEcho, listSchema, offsetOf, Pagination, sortBy } from '../../http/lists.ts';
import { listedTokens, ShownListedToken } from '../shown_token.ts';

const FIELDS = Object.keys(TOKEN_SORTS) as (keyof typeof TOKEN_SORTS)[];
const Query = Type.Object(
  {
    'user-id': ids('Tokens of these users. Default: of the caller.'),
    pagination: Pagination,
    sort: sortBy(FIELDS, 'id', 'asc'),
  },
  { additionalProperties: false },
);

async function list({ store }: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const { 'user-id': asked, pagination, sort } = checkedBy(Query, ctx);
  const owners = asked.length === 0 ? [caller.userId] : asked;
  for (const id of owners)
    if (id !== caller.userId && !(await store.findUser(id, seesEveryone(caller) ? null : caller.userId)))
      throw notFound();
  const { tokens, total } = await store.listTokens({
    owners,
    sort,
    offset: offsetOf(pagination),
    limit: pagination.limit,
  });
  const listed = await listedTokens(store, tokens);
  const { filter, ...echo } = listEcho(
    { filter: { 'user-id': asked }, pagination, sort },
    { count: listed.length, total },
  );
  ctx.body = { filter, 'api-tokens': listed, ...echo };
}

export const listTokens = endpoint(
  'GET auth/api-token',
  {
    id: 'listApiTokens',
    tag: 'auth',
    summary: 'List API tokens',
    query: Query,
    also: [404],
    answer: { description: 'API tokens that are not revoked.', schema: listSchema('api-tokens', ShownListedToken) },
  },
  list,
);
